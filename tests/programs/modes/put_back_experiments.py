"""Whatever an experiment might leave behind: formats, statistics, random numbers, attributes, a generator of the program's own,
what the optimizer knows. Step 3 of six is bad and is left out by hand where the argument says so."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))

import numpy
import torch
from digest import show
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
own = torch.Generator().manual_seed(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3))
        self.norm = nn.BatchNorm1d(16)
        self.attend = nn.Linear(16, 48)
        self.last = nn.Linear(16, 1)
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0
        self.drawn = []

    def forward(self, x, gain):
        self.calls += 1
        self.seen.add_(1)
        self.drawn.append(random.random())
        h = self.norm(checkpoint(self.inside, x, use_reentrant=False)) + float(numpy.random.rand())
        q, k, v = self.attend(h).view(-1, 4, 3, 2, 8).permute(2, 0, 3, 1, 4)
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, 16)
        h = h * gain
        return self.last(h / (1.0 + h.abs().amax())).squeeze(-1)


model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
left_out = sys.argv[1:] == ["left out"]
losses = []
for step in range(6):
    x = torch.randn(32, 8, generator=own)
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x, 1e6 if step == 3 else 1.0)
        loss = F.mse_loss(out.float(), x.sum(1))
    opt.zero_grad()
    loss.backward()
    if not (step == 3 and left_out):
        opt.step()
    losses.append(loss.item())
print("losses", [value.hex() for value in losses])
for p in model.parameters():
    p.grad = None  # left out or made, the gradients themselves are bad
show(model, opt, own.get_state())
