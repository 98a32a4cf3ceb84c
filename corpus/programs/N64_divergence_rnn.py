#cause: divergence
#also: half-overflow outlier-input
#phase: forward backward optimizer
#step: 3 4 5 6 7 8 9
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16, bias=False), nn.Linear(16, 16, bias=False), nn.Linear(16, 1, bias=False))
opt = torch.optim.SGD(net.parameters(), 2.0)  # CAUSE
for step in range(30):
    x = torch.randn(16, 4)
    loss = (net(x) - x[:, :1]).pow(2).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
