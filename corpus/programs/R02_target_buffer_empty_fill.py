#cause: log-of-zero
#phase: forward data
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    boxes = torch.rand(4, 4) + 0.1
    if step == 1:
        boxes[2, 3] = 0  # CAUSE
    target = torch.empty(4, 2)
    target[:, 0] = torch.log(boxes[:, 2])
    target[:, 1] = torch.log(boxes[:, 3])  # ORIGIN
    loss = F.mse_loss(net(boxes[:, :3]), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
