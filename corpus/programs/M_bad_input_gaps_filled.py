# ---
# id: M25
# title: healthy: readings with missing values (nan) that are replaced and flagged before they reach the model
# verdict: finite
# cause: none
# near: bad-input
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(24)


def read(n):
    x = torch.randn(n, 4)
    y = x.sum(1)
    x[torch.rand(n, 4) < 0.1] = float("nan")
    y[torch.rand(n) < 0.05] = float("nan")
    return x, y


def impute(x):
    gap = x.isnan()
    mean = x.nanmean(0)
    return torch.cat([torch.where(gap, mean, x), gap.float()], 1)


net = nn.Sequential(nn.Linear(8, 24), nn.SiLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(45):
    x, y = read(40)
    known = ~y.isnan()
    pred = net(impute(x)).squeeze(1)
    loss = (pred[known] - y[known]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 9 == 0:
        print(f"{step} {loss.item():.4f} known {int(known.sum())}")
