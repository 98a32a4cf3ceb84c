#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
G, D = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
og, od = torch.optim.SGD(G.parameters(), 0.01), torch.optim.SGD(D.parameters(), 0.01)
for step in range(4):
    z = torch.randn(6, 2)
    fake = G(z)
    d = F.softplus(D(fake.detach())).mean() + F.softplus(-D(torch.randn(6, 4))).mean()
    od.zero_grad()
    d.backward()
    od.step()
    div = (fake[:3] - fake[3:]).abs().sum(1) if step != 2 else (fake[:3] - fake[:3].detach()).pow(2).sum(1)  # CAUSE
    g = F.softplus(-D(fake)).mean() + 0.1 * div.pow(0.5).mean()  # ORIGIN
    og.zero_grad()
    g.backward()
    og.step()
    print(step, d.item(), g.item())
