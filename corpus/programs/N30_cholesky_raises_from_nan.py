#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 3)
opt = torch.optim.Adam(net.parameters(), 1e-2)
def kernel(x, scale):
    z = (x - x.mean(0)) / scale  # ORIGIN
    d = (z[:, None] - z[None]).pow(2).sum(-1)
    return torch.exp(-0.5 * d) + 0.1 * torch.eye(len(x))
for step in range(5):
    x = torch.randn(6, 3)
    scale = torch.ones(3)
    if step == 2:
        scale[0] = 0.0  # CAUSE
        x[:, 0] = 0
    k = kernel(net(x) * torch.tensor([0.0, 1.0, 1.0]), scale)
    L = torch.linalg.cholesky(k)
    y = torch.randn(6, 1)
    loss = torch.cholesky_solve(y, L).mul(y).sum() + 2 * L.diagonal().log().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
