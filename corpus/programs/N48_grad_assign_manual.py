#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 3, bias=False))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[5] = 0  # CAUSE
    loss = (x + net(x).mean(1, keepdim=True)).pow(2).sum(1).sqrt().mean()  # ORIGIN
    grads = torch.autograd.grad(loss, net.parameters())
    for p, g in zip(net.parameters(), grads):
        p.grad = g.clone()
    opt.step()
    print(step, loss.item())
