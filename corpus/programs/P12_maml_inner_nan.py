#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
from torch.func import functional_call
net = nn.Sequential(nn.Linear(2, 8, bias=False), nn.Tanh(), nn.Linear(8, 2, bias=False))
opt = torch.optim.Adam(net.parameters(), 1e-3)
def dist(a):
    return a.pow(2).sum(-1).sqrt().mean()  # ORIGIN
for step in range(3):
    x = torch.randn(5, 2)
    if step == 1:
        x[0] = 0  # CAUSE
    p = dict(net.named_parameters())
    g = torch.autograd.grad(dist(functional_call(net, p, (x,))), tuple(p.values()), create_graph=True)
    fast = {k: v - 0.1 * d for (k, v), d in zip(p.items(), g)}
    loss = functional_call(net, fast, (torch.randn(5, 2),)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
