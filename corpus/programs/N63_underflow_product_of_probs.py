#cause: underflow
#also: log-of-zero
#phase: forward
#step: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 30)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    x = torch.randn(8, 60, 4)
    p = net(x).softmax(-1)[..., 0]
    joint = p.prod(1)  # CAUSE
    loss = -torch.log(joint).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
