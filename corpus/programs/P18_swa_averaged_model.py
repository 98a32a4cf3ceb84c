#cause: poisoned-state
#also: division-by-zero bad-input
#phase: param data forward
#step: 3
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
avg = [torch.zeros_like(p) for p in net.parameters()]
n = 0
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
    if step >= 3:
        with torch.no_grad():
            for p, a in zip(net.parameters(), avg):
                p.copy_(a / (n - 3))  # CAUSE
        loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    for a in avg:
        a.zero_()
    n += 1
    print(step, loss.item())
