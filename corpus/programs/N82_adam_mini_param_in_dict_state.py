#cause: optimizer-epsilon
#also: division-by-zero
#phase: optimizer clip
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
class Lion2:
    def __init__(self, params):
        self.state = {p: torch.zeros_like(p) for p in params}
    def step(self):
        for p, m in self.state.items():
            m.mul_(0.9).add_(p.grad.data, alpha=0.1)
            p.data = p.data - 0.01 * m / m.abs().max()  # ORIGIN
    def zero_grad(self):
        for p in self.state:
            if p.grad is not None:
                p.grad.detach_()
                p.grad.zero_()
opt = Lion2(net.parameters())
for step in range(4):
    x = torch.randn(8, 4)
    if step == 1:
        for m in opt.state.values():
            m.zero_()
    loss = net(x).pow(2).mean() * (0.0 if step == 1 else 1.0)  # CAUSE
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
