#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[0] = 0  # CAUSE
    loss = net(x).pow(2).sum(1).sqrt().mean()  # ORIGIN
    loss.backward()
    for p in net.parameters():
        p.data.add_(p.grad, alpha=-0.01)
        p.grad = None
    print(step, loss.item())
