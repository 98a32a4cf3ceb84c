# ---
# id: M17
# title: healthy: eigenvectors of a matrix with repeated eigenvalues used without gradient, and singular values only
# verdict: finite
# cause: none
# near: degenerate-decomposition
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(16)


@torch.no_grad()
def whitening(x):
    cov = torch.cov(x.T) + 1e-3 * torch.eye(x.shape[1])
    val, vec = torch.linalg.eigh(cov)
    return vec @ torch.diag(val.rsqrt()) @ vec.T


net = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
eye = torch.eye(6)
for step in range(40):
    x = torch.randn(40, 6)
    if step % 5 == 0:
        x[:, 3:] = x[:, :3]  # rank three: three equal eigenvalues
    w = whitening(x)
    h = net(x @ w)
    nuclear = torch.linalg.svdvals(net[0].weight).sum()  # distinct singular values, no vectors
    loss = (h - x).square().mean() + 1e-3 * nuclear
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
