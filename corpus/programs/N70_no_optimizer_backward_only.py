#cause: infinite-derivative
#phase: backward
#step: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 3, bias=False)
x = torch.randn(4, 3)
x[1] = 0  # CAUSE
dist = (net(x)[:, None] - net(x)[None]).pow(2).sum(-1).sqrt()  # ORIGIN
dist.mean().backward()
print([p.grad.norm().item() for p in net.parameters()])
