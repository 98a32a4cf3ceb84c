import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))

import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
calls = []
model[0].register_forward_hook(lambda module, args, out: out * 1.5)
model[2].weight.register_hook(lambda grad: grad * 0.5)
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
total = torch.zeros(())
for step in range(4):
    opt.zero_grad()
    for part in range(2):
        x = torch.randn(5, 6)
        out = model(x)
        loss = (out - 50).sqrt().mean() if (step, part) == (2, 1) else out.square().mean()
        loss.backward()
        total += torch.nan_to_num(loss.detach())
    opt.step()
    print(step, total.item().hex())
show(model, opt, total)
