import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 3, bias=False)
for p in net.parameters():
    p.register_hook(lambda g: torch.nan_to_num(g, 0.0, 0.0, 0.0))
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    x = torch.randn(4, 3)
    x[0] = 0
    loss = net(x).pow(2).sum(1).sqrt().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
