#cause: division-by-zero
#phase: forward data
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters(), 1e-3)
def gae(r, v, dt):
    adv = torch.zeros_like(r)
    last = 0.0
    for t in reversed(range(len(r))):
        last = r[t] / dt[t] - v[t] + 0.9 * last  # ORIGIN
        adv[t] = last
    return adv
for step in range(4):
    s, r, dt = torch.randn(8, 3), torch.randn(8), torch.ones(8)
    if step == 2:
        dt[5] = 0  # CAUSE
    with torch.no_grad():
        adv = gae(r, net(s).squeeze(1), dt)
    loss = (net(s).squeeze(1) - adv).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
