"""Steps 2 and 4 of six are bad. Arguments: the optimizer, and `left out` to leave those updates out by hand."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))

import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
opt = getattr(torch.optim, sys.argv[1] if len(sys.argv) > 1 else "SGD")(model.parameters(), lr=1e-2)
left_out = sys.argv[2:] == ["left out"]
for step in range(6):
    x = torch.randn(4, 6)
    bad = step in (2, 4)
    out = model(x)
    loss = (out - 100.0).log().mean() if bad else out.square().mean()
    opt.zero_grad()
    loss.backward()
    if not (bad and left_out):
        opt.step()
    print("step", step, flush=True)
for p in model.parameters():
    p.grad = None  # left out or made, the gradients themselves are bad
print("finite", all(bool(p.isfinite().all()) for p in model.parameters()))
show(model, opt)
