"""A model of 200 modules under autocast: those whose numbers are the arguments leave float16 on the way."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
planted = {int(number) for number in sys.argv[1:]}


class Stage(nn.Module):
    def __init__(self, gain):
        super().__init__()
        self.weight = nn.Parameter(nn.init.orthogonal_(torch.empty(8, 8)))
        self.gain = gain

    def forward(self, x):
        h = x @ self.weight * self.gain
        return h / h.abs().amax()


model = nn.Sequential(*(Stage(1e5 if i in planted else 1.0) for i in range(200)))
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
with torch.autocast("cpu", dtype=torch.float16):
    loss = model(torch.randn(4, 8)).float().square().mean()
loss.backward()
opt.step()
