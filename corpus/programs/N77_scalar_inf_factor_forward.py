#cause: bad-input
#also: division-by-zero zero-times-infinity half-overflow
#phase: forward data forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
beta = 1e300
for step in range(4):
    x = torch.randn(8, 4)
    kl = net(x).pow(2).mean()
    if step == 2:
        beta = beta * 1e300  # CAUSE
    loss = kl + (0.0 if step < 2 else beta) * kl  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
