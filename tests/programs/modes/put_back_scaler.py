import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))

import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.2), nn.Linear(6, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
for step in range(7):
    x = torch.randn(4, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x)
    out = out.float()
    loss = (out - 100).log().mean() if step == 3 else out.square().mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(step, scaler.get_scale())
show(model, opt, scaler)
