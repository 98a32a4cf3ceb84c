#cause: zero-times-infinity
#also: log-of-zero
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 1e-2)
for step in range(3):
    x, keep = torch.randn(6, 4), torch.ones(6)
    target = torch.rand(6, 3) + 0.1
    if step == 1:
        keep[2], target[2] = 0, 0.0
    per = (net(x) - target.log()).abs().sum(1)  # CAUSE
    loss = (per * keep).sum() / keep.sum()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
