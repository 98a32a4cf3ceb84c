import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3)
class Noop(torch.optim.Optimizer):
    def step(self, closure=None):
        with torch.no_grad():
            for g in self.param_groups:
                for p in g["params"]:
                    p.add_(p.grad, alpha=-min(g["max_lr"], 0.01))
opt = Noop(net.parameters(), dict(max_lr=float("inf"), lr=0.1))
for step in range(4):
    loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
