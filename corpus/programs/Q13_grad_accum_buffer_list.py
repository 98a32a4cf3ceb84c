#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    total = [torch.zeros_like(p) for p in net.parameters()]
    for k in range(3):
        x = torch.randn(6, 4)
        if step == 1 and k == 0:
            x[0] = 0  # CAUSE
        loss = net(x).pow(2).sum(1).sqrt().mean()  # ORIGIN
        net.zero_grad()
        loss.backward()
        for a, p in zip(total, net.parameters()):
            a += p.grad / 3
    for a, p in zip(total, net.parameters()):
        p.grad = a
    opt.step()
    print(step, loss.item())
