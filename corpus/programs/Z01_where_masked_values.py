import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.05)
for step in range(8):
    x = torch.randn(8, 4)
    x[torch.rand(8, 4) > 0.8] = float("nan")
    seen = ~torch.isnan(x)
    x = torch.where(seen, x, torch.zeros_like(x))
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
