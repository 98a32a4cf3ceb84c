# ---
# id: M30
# title: healthy: a corrupt batch is noticed before the update; neither the weights nor the moving average see it
# verdict: finite
# cause: none
# near: poisoned-state
# source: made for this project
# ---
import copy
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(29)
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


@torch.no_grad()
def follow(decay):
    for e, p in zip(ema.parameters(), net.parameters()):
        e.lerp_(p, 1 - decay)


for step in range(50):
    x = torch.randn(32, 5)
    if step in (12, 31):
        x[3, 1] = float("inf")
    if not torch.isfinite(x).all():
        print(step, "batch passed over")
        continue
    y = torch.sin(x[:, 0] + x[:, 1])
    loss = (net(x).squeeze(1) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    follow(min(0.95, (1 + step) / (10 + step)))
    if step % 10 == 0:
        with torch.no_grad():
            lag = (ema(x) - net(x)).abs().mean().item()
        print(step, loss.item(), lag)
