#cause: log-of-zero
#also: bad-input
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import numpy as np
buf = np.zeros((8, 4), dtype=np.float32)
x = torch.from_numpy(buf)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.01)
rng = np.random.default_rng(0)
for step in range(4):
    buf[:] = rng.random((8, 4)) + 0.1
    if step == 2:
        buf[3, 1] = 0  # CAUSE
    feat = torch.log(x)  # ORIGIN
    loss = net(feat).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
