#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x = torch.randn(6, 4)
    if step == 1:
        x[0] = 0  # CAUSE
    loss = net(x).pow(2).sum(1).sqrt().mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    for n, p in net.named_parameters():
        if not torch.isfinite(p.grad).all():
            raise ValueError(f"bad gradient in {n} at step {step}")
    opt.step()
