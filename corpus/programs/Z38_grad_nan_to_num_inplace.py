import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(6, 4)
    x[0] = 0
    loss = net(x).pow(2).sum(1).sqrt().mean()
    opt.zero_grad()
    loss.backward()
    for p in net.parameters():
        torch.nan_to_num_(p.grad, nan=0.0)
    opt.step()
    print(step, loss.item())
