#cause: gradient-edit
#also: log-of-zero infinite-derivative division-by-zero
#phase: clip hook optimizer
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 1e-3)
def sign_log(g):
    return g.sign() * torch.log(g.abs())  # ORIGIN
for step in range(3):
    x = torch.randn(8, 4)
    if step == 1:
        x[:, 0] = 0  # CAUSE
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    for p in net.parameters():
        p.grad.copy_(sign_log(p.grad))
    opt.step()
    print(step, loss.item())
