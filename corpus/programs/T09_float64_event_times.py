# ---
# id: T09
# title: double precision regression on epoch milliseconds; the batch spread is E[t^2]-E[t]^2, and a burst of events has no digits left
# verdict: nonfinite
# cause: cancellation
# also_accept: ["negative-argument"]
# phase: forward
# phase_accept: ["forward"]
# step: [4]
# lines: [29]
# op: aten.sqrt
# fix: centre-first
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
torch.manual_seed(13)
EPOCH_MS = 1_764_000_000_000.0


def spread(t):
    if FIX:
        return (t - t.mean(0)).square().mean(0).sqrt()
    return (t.square().mean(0) - t.mean(0).square()).sqrt()  # <-- ORIGIN


class TimeNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(n))
        self.shift = nn.Parameter(torch.zeros(n))

    def forward(self, t):
        return (t - t.mean(0)) / (spread(t) + 1e-6) * self.gain + self.shift


class Latency(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = TimeNorm(2)
        self.body = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, times, rest):
        return self.body(torch.cat([self.norm(times), rest], 1)).squeeze(1)


def events(width_ms, n=32):
    start = EPOCH_MS + torch.rand(n, 1) * width_ms
    stop = start + torch.rand(n, 1) * width_ms * 0.1
    rest = torch.randn(n, 3)
    y = rest.sum(1) + ((start - EPOCH_MS) / width_ms).squeeze(1)
    return torch.cat([start, stop], 1), rest, y


model = Latency()
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.StepLR(opt, 4, 0.5)
day = 86_400_000.0
for step, width in enumerate([day, day, day / 2, day, 40.0, day, day, day]):
    times, rest, y = events(width)
    loss = nn.functional.smooth_l1_loss(model(times, rest), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    print(f"step {step} window {width:.0f} ms loss {loss.item():.6f}")
    if step % 3 == 2:
        with torch.no_grad():
            print("   validation", nn.functional.l1_loss(model(*(v := events(day))[:2]), v[2]).item())
