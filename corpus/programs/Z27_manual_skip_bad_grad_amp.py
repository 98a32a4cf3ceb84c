import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4).half()
master = [p.detach().float().clone().requires_grad_(True) for p in net.parameters()]
opt = torch.optim.SGD(master, 0.01)
scale = 2.0 ** 22
for step in range(16):
    x = torch.randn(8, 4).half()
    loss = net(x).float().pow(2).mean()
    net.zero_grad()
    (loss * scale).backward()
    bad = any(not torch.isfinite(p.grad).all() for p in net.parameters())
    if bad:
        scale /= 2
        print(step, "overflow, scale", scale)
        continue
    for m, p in zip(master, net.parameters()):
        m.grad = p.grad.float() / scale
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, net.parameters()):
            p.copy_(m)
    print(step, loss.item(), scale)
