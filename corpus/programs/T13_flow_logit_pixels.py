# ---
# id: T13
# title: coupling flow on grey values in [0, 1]; the logit transform meets a pixel that is exactly black
# verdict: nonfinite
# cause: log-of-zero
# also_accept: []
# phase: forward
# phase_accept: ["forward"]
# step: [4]
# lines: [30, 31]
# op: aten.log
# fix: squeeze-into-open-interval
# source: made for this project
# ---
import math
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(14)
D = 8


class Logit(nn.Module):
    def forward(self, x):
        alpha = 0.01 if FIX else 0.0
        x = alpha + (1 - 2 * alpha) * x
        z = torch.log(x) - torch.log1p(-x)  # <-- ORIGIN
        log_det = -(torch.log(x) + torch.log1p(-x)).sum(1)  # <-- ORIGIN
        return z, log_det


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(D // 2, 20), nn.Tanh(), nn.Linear(20, D))
        nn.init.zeros_(self.net[2].weight)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Logit(), Coupling(False), Coupling(True), Coupling(False)])

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            total = total + ld
        return total - 0.5 * (x.square() + math.log(2 * math.pi)).sum(1)


def patches(kind, n=24):
    base = torch.rand(n, 1) * 0.4 + 0.3
    grey = (base + 0.1 * torch.randn(n, D)).clamp(0.05, 0.95)
    if kind == "night":
        grey = (grey - 0.35).clamp(0, 1)
    return grey


flow = Flow()
opt = torch.optim.Adamax(flow.parameters(), lr=5e-3)
held = patches("day")
for epoch, kinds in enumerate([["day", "day"], ["day", "day", "night"], ["day", "night"]]):
    for kind in kinds:
        nll = -flow.log_prob(patches(kind)).mean()
        opt.zero_grad()
        nll.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        print(f"epoch {epoch} {kind:5s} nll {nll.item():.4f}")
    with torch.no_grad():
        print(f"epoch {epoch} held-out bits/dim {-flow.log_prob(held).mean().item() / D / math.log(2):.4f}")
