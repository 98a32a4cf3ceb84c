#cause: log-of-zero
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
G, D = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4)), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
def bce(p, t):
    return -torch.log(p if t else 1 - p).mean()  # ORIGIN
for step in range(4):
    fake = G(torch.randn(8, 2))
    if step == 2:
        fake = fake * 1e5  # CAUSE
    d = bce(torch.sigmoid(D(torch.randn(8, 4))), 1) + bce(torch.sigmoid(D(fake.detach() * 1e-5)), 0)
    od.zero_grad()
    d.backward()
    od.step()
    g = bce(torch.sigmoid(D(fake).abs() * (1 if step == 2 else 0.01)), 0)
    og.zero_grad()
    g.backward()
    og.step()
    print(step, d.item(), g.item())
