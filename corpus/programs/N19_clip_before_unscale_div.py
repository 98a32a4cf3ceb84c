#cause: gradient-edit
#also: division-by-zero
#phase: clip optimizer hook
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 2, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.1)
def clip(params, limit):
    total = torch.stack([p.grad.norm() for p in params]).norm()
    for p in params:
        p.grad.mul_(limit / total)  # ORIGIN
for step in range(4):
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    if step == 2:
        x.zero_()  # CAUSE
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    clip(list(net.parameters()), 1.0)
    opt.step()
    print(step, loss.item())
