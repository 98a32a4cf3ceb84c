# ---
# id: M18
# title: healthy: normal equations of more unknowns than rows, solved with a ridge; cholesky of a kernel with jitter
# verdict: finite
# cause: none
# near: singular-matrix
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(17)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8))
log_noise = nn.Parameter(torch.tensor(-2.0))
opt = torch.optim.Adam([*net.parameters(), log_noise], lr=5e-3)


def ridge_head(h, y):
    """8 unknowns, 5 rows: the plain Gram matrix is singular"""
    a = h.T @ h + 0.1 * torch.eye(h.shape[1])
    return torch.linalg.solve(a, h.T @ y)


def gp_nll(z, y):
    k = (-0.5 * torch.cdist(z, z).square()).exp()
    k = k + (log_noise.exp() + 1e-4) * torch.eye(len(z))
    low = torch.linalg.cholesky(k)
    alpha = torch.cholesky_solve(y, low)
    return (0.5 * y.T @ alpha).squeeze() + low.diagonal().log().sum()


for step in range(30):
    x = torch.randn(17, 4)
    x[16] = x[15]  # the same point twice
    y = x[:, :1].sin()
    h = net(x)
    w = ridge_head(h[:5], y[:5])
    loss = (h[5:] @ w - y[5:]).square().mean() + 0.05 * gp_nll(h[:, :3] + 0.01 * torch.randn(17, 3), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 6 == 0:
        print(step, loss.item(), log_noise.exp().item())
