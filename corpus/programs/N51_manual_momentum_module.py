#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
vel = {p: torch.zeros_like(p) for p in net.parameters()}
def sgd(lr=0.01, mu=0.9):
    with torch.no_grad():
        for p, v in vel.items():
            v.mul_(mu).add_(p.grad)
            p.add_(v, alpha=-lr)
            p.grad.zero_()
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[0] = 0  # CAUSE
    loss = net(x).pow(2).sum(1).sqrt().mean()  # ORIGIN
    loss.backward()
    sgd()
    print(step, loss.item())
