# ---
# id: K05
# title: dense connections through a list on the module: the recomputation appends to it once more
# verdict: mismatch
# cause: recompute-mismatch
# detail: list-grows-in-recompute
# phase: recompute
# step: [0]
# op: aten::cat
# fix: list-without-the-module
# source: made for this project
# note: "shapes fit because only the newest maps are averaged; reentrant checkpoint compares nothing"
# ---
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(19)


class Dense(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
        self.past = []

    def forward(self, x):
        past = [] if FIX else self.past
        past.append(torch.tanh(x).detach())
        around = torch.cat(past, 0)  # <-- ORIGIN
        return x + self.mix(x - around.mean(0))


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inp = nn.Linear(4, width)
        self.stages = nn.ModuleList(Dense(width) for _ in range(2))
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        h = self.inp(x)
        for stage in self.stages:
            stage.past.clear()
            h = checkpoint(stage, h, use_reentrant=True)
        return self.out(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(10):
    x = torch.randn(24, 4)
    loss = F.cross_entropy(net(x), (x.prod(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
