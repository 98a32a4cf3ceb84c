# ---
# id: K07
# title: stochastic depth draws its gain from Python's random module inside a checkpointed block
# verdict: mismatch
# cause: recompute-mismatch
# detail: python-random-not-restored
# phase: recompute
# step: [0]
# op: aten::mul
# fix: draw-outside-the-block
# source: made for this project
# note: "torch puts its own generators back, not Python's"
# ---
import os
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(29)
random.seed(29)


class Branch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.body = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x, gain):
        gain = random.uniform(0.5, 1.5) if gain is None else gain
        return x + F.silu(self.body(self.norm(x) * gain))  # <-- ORIGIN


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inp = nn.Linear(6, width)
        self.branches = nn.ModuleList(Branch(width) for _ in range(4))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for branch in self.branches:
            gain = random.uniform(0.5, 1.5) if FIX else None
            h = checkpoint(branch, h, gain, use_reentrant=False)
        return self.out(h)


net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(10):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x).squeeze(1), x.abs().sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
