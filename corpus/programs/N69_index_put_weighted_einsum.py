#cause: zero-times-infinity
#also: division-by-zero
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.RMSprop(net.parameters(), 1e-3)
for step in range(3):
    x = torch.randn(6, 4)
    dist = torch.rand(6, 6) + 0.5
    dist.fill_diagonal_(1.0)
    if step == 1:
        dist[2, 3] = 0
    inv = 1 / dist  # CAUSE
    w = torch.ones(6, 6)
    w[2, 3] = 0
    h = net(x)
    loss = torch.einsum("ij,id,jd->", w * inv, h, h) / 36  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
