import random

import numpy
import torch
from digest import show
from torch import nn

torch.manual_seed(0)
random.seed(0)
numpy.random.seed(0)


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.calls = 0
        self.history = []

    def forward(self, x):
        self.calls += 1
        self.history.append(random.random())
        if random.random() < 0.5:
            x = x * float(numpy.random.rand())
        return nn.functional.dropout(self.inner(x) + 0.1 * torch.randn_like(x), 0.3)


model = nn.Sequential(Noisy(), nn.Dropout(0.5), Noisy())
opt = torch.optim.AdamW(model.parameters())
for step in range(8):
    x = torch.randn(4, 8)
    mask = torch.bernoulli(torch.full((4, 8), 0.7))
    loss = ((nn.functional.dropout(model(x), 0.1) - x) * mask).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex(), torch.rand(()).item().hex())
show(model, opt)
