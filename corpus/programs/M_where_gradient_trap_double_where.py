# ---
# id: M16
# title: healthy: safe argument inside torch.where as well as around it, so neither branch is bad
# verdict: finite
# cause: none
# near: where-gradient-trap
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(15)


def sinc(x):
    small = x.abs() < 1e-4
    safe = torch.where(small, torch.ones_like(x), x)
    return torch.where(small, 1 - x * x / 6, safe.sin() / safe)


def safe_log(x):
    ok = x > 0
    return torch.where(ok, torch.where(ok, x, torch.ones_like(x)).log(), torch.zeros_like(x))


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.freq = nn.Parameter(torch.rand(8) * 3)
        self.mix = nn.Linear(8, 1)

    def forward(self, x):
        return self.mix(sinc(x * self.freq)).squeeze(1)


net = Wave()
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(50):
    x = torch.randn(48, 1) * 2
    x[:6] = 0.0
    y = sinc(1.7 * x).squeeze(1)
    loss = (net(x) - y).square().mean() + 1e-3 * safe_log(net(x)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
