# ---
# id: K03
# title: spectral normalisation by power iteration inside a checkpointed block: its vector moves on with every execution
# verdict: mismatch
# cause: recompute-mismatch
# detail: buffer-moved-by-the-block
# phase: recompute
# step: [0]
# op: aten::mv
# fix: iterate-outside-the-block
# source: made for this project
# note: "forward and recomputation divide by different estimates of the spectral norm"
# ---
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(13)


class Spectral(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.register_buffer("u", F.normalize(torch.randn(width), dim=0))

    def iterate(self):
        with torch.no_grad():
            v = F.normalize(torch.mv(self.weight.t(), self.u), dim=0)  # <-- ORIGIN
            self.u.copy_(F.normalize(torch.mv(self.weight, v), dim=0))

    def forward(self, x):
        if not FIX:
            self.iterate()
        v = F.normalize(torch.mv(self.weight.t(), self.u), dim=0).detach()  # <-- CAUSE
        sigma = torch.dot(self.u.clone(), torch.mv(self.weight, v))
        return F.leaky_relu(F.linear(x, self.weight / sigma), 0.1)


class Critic(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.layers = nn.ModuleList(Spectral(width) for _ in range(3))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=True)
        return self.out(h)


critic = Critic()
optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
for step in range(10):
    real = torch.randn(32, 2) * 0.3 + 1
    fake = torch.rand(32, 2) * 2 - 1
    if FIX:
        for layer in critic.layers:
            layer.iterate()
    loss = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
