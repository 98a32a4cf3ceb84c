import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
from torch.func import functional_call
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    opt.zero_grad()
    total = 0
    for task in range(2):
        a = torch.rand(1) * 3
        x = torch.randn(10, 1)
        p = dict(net.named_parameters())
        inner = (functional_call(net, p, (x,)) - a * x).pow(2).mean()
        g = torch.autograd.grad(inner, list(p.values()), create_graph=True)
        fast = {k: v - 0.1 * d for (k, v), d in zip(p.items(), g)}
        total = total + (functional_call(net, fast, (x,)) - a * x).pow(2).mean()
    total.backward()
    opt.step()
    print(step, total.item())
