"""Float16 gradients times a fixed loss scale that is too large."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
SCALE = float(sys.argv[1])
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(2):
    x = torch.randn(32, 8)
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = (model(x) - 30.0).float().square().mean()
    (loss * SCALE).backward()
    for p in model.parameters():
        p.grad /= SCALE
    opt.step()
