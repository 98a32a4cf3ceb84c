import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))

import torch
from digest import show

torch.manual_seed(0)
w = torch.nn.Parameter(torch.ones(3, dtype=torch.float16))
v = torch.nn.Parameter(torch.ones(3))
opt = torch.optim.Adam([w, v], lr=1e-2, eps=1e-8)  # 1e-8 is 0 in float16
for step in range(4):
    loss = (w.float() * torch.tensor([1.0, 0.0, 1.0])).sum() + v.square().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, v.tolist())
show(w, v, w.grad, v.grad, opt)
