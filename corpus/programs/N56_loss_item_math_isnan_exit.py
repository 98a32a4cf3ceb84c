#cause: division-by-zero
#phase: forward
#step: 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import math, sys
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    x, w = torch.rand(6, 4), torch.rand(6)
    if step == 3:
        w[:] = 0  # CAUSE
    loss = (net(x).squeeze(1) * w).sum() / w.sum()  # ORIGIN
    value = loss.item()
    if not math.isfinite(value):
        print("Loss is {}, stopping training".format(value))
        sys.exit(1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, value)
