#cause: bad-input
#phase: data
#step: 1
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x, y = torch.randn(8, 4), torch.randn(8)
    if step == 1:
        y[3] = float("nan")  # CAUSE
    loss = F.huber_loss(net(x).squeeze(-1), y)  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
