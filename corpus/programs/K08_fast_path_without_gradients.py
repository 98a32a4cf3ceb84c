# ---
# id: K08
# title: a block takes a fast approximation where no gradients are recorded, as in the forward of a reentrant checkpoint
# verdict: mismatch
# cause: recompute-mismatch
# detail: path-by-grad-mode
# phase: recompute
# step: [0]
# op: aten::gelu
# fix: one-path
# source: made for this project
# note: "forward runs under no_grad, the recomputation does not: the same operator with another argument"
# ---
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(31)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        fast = not torch.is_grad_enabled() and not FIX
        h = F.gelu(self.up(x) * 2, approximate="tanh" if fast else "none")  # <-- ORIGIN
        return x + self.down(h)


class Net(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.inp = nn.Linear(3, width)
        self.experts = nn.ModuleList(Expert(width) for _ in range(2))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for expert in self.experts:
            h = checkpoint(expert, h, use_reentrant=True)
        return self.out(h)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(32, 3)
    loss = F.mse_loss(net(x).squeeze(1), (x[:, 0] * x[:, 1] + x[:, 2]).sin())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
