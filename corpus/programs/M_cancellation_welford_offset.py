# ---
# id: M06
# title: healthy: measurements with a huge offset; the spread is computed after centring, the E[x^2]-E[x]^2 form only in double and clamped
# verdict: finite
# cause: none
# near: cancellation
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(5)


class RunningScale:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, torch.zeros(3, dtype=torch.double), torch.zeros(3, dtype=torch.double)

    def add(self, rows):
        for r in rows.double():
            self.n += 1
            d = r - self.mean
            self.mean += d / self.n
            self.m2 += d * (r - self.mean)

    def std(self):
        return (self.m2 / max(self.n - 1, 1)).clamp_min(0).sqrt()


def naive_variance(x):
    x = x.double()
    return ((x * x).mean(0) - x.mean(0) ** 2).clamp_min(0.0)


scale = RunningScale()
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(40):
    clean = torch.randn(24, 3)
    x = 30000.0 + clean
    scale.add(x)
    z = ((x.double() - scale.mean) / (scale.std() + 1e-6)).float()
    loss = (net(z).squeeze(1) - clean.sum(1)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item(), naive_variance(x).mean().item())
