"""One of two models turns NaN at step 3; the other, and all that is random, goes on."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))

import numpy
import torch
from digest import show
from torch import nn


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.3))
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.seen += 1
        return self.body(x) + random.random() + float(numpy.random.rand())


torch.manual_seed(0)
sick, well = Counting(), Counting()
opt_sick = torch.optim.Adam(sick.parameters(), lr=1e-3)
opt_well = torch.optim.SGD(well.parameters(), lr=1e-2, momentum=0.9)
for step in range(6):
    x = torch.randn(8, 6)
    opt_sick.zero_grad()
    opt_well.zero_grad()
    a, b = sick(x), well(x)
    loss_sick = (a.square() - 1e6).log().mean() if step == 3 else a.square().mean()
    loss_well = b.square().mean()
    loss_well.backward()
    opt_well.step()
    loss_sick.backward()
    opt_sick.step()
    print(step, loss_well.item().hex(), sick.calls, well.calls, sick.seen.item())
show(sick, well, opt_sick, opt_well)
