# ---
# id: M12
# title: healthy: a root and a logarithm near zero whose arguments are kept positive by softplus, abs and clamp
# verdict: finite
# cause: none
# near: negative-argument
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(11)


class HeteroGauss(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 2))

    def forward(self, x):
        mu, raw = self.body(x).unbind(1)
        return mu, F.softplus(raw) + 1e-4


def nll(mu, var, y):
    return (0.5 * var.log() + 0.5 * (y - mu).square() / var).mean()


net = HeteroGauss()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(50):
    x = torch.randn(64, 3)
    y = x[:, 0] + 0.2 * x[:, 1].abs().clamp_min(0.05).sqrt() * torch.randn(64)
    mu, var = net(x)
    loss = nll(mu, var, y)  # turns negative late in training: a density, not a fault
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0 or step == 49:
        print(step, loss.item(), var.min().item())
