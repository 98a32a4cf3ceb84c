#cause: gradient-edit
#also: division-by-zero infinite-derivative
#phase: clip hook optimizer
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x, y = torch.randn(5, 4), torch.randn(5, 1)
    acc = [torch.zeros_like(p) for p in net.parameters()]
    for i in range(5):
        out = net(x[i:i + 1])
        target = out.detach() if step == 1 and i == 0 else y[i:i + 1]  # CAUSE
        loss = (out - target).pow(2).sum()
        g = torch.autograd.grad(loss, list(net.parameters()))
        norm = torch.stack([v.norm() for v in g]).norm()
        for a, v in zip(acc, g):
            a += v / norm  # ORIGIN
    for p, a in zip(net.parameters(), acc):
        p.grad = a / 5
    opt.step()
    print(step, loss.item())
