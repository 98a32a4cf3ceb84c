# ---
# id: M10
# title: healthy: distances of exactly zero with eps inside the root, and torch's own norm with its zero subgradient
# verdict: finite
# cause: none
# near: infinite-derivative
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(9)


def pair_distance(z):
    d2 = (z[:, None] - z[None]).square().sum(-1)
    return (d2 + 1e-6).sqrt()


net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(20, 6)
    x[1] = x[0]  # a duplicate: distance exactly zero off the diagonal too
    z = net(x)
    want = pair_distance(x[:, :2])
    stress = (pair_distance(z) - want).square().mean()
    same = torch.linalg.vector_norm(z[0] - z[1])  # subgradient 0 at 0
    gap = torch.cdist(z[:2], z[:2]).sum()
    loss = stress + 0.1 * same + 0.1 * gap
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item(), same.item())
