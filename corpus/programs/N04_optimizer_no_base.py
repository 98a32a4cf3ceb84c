#cause: optimizer-epsilon
#also: division-by-zero
#phase: optimizer
#step: 1
import torch
from torch import nn
torch.manual_seed(0)
class MyAdam:
    def __init__(self, params, lr=0.01):
        self.params, self.lr, self.t = list(params), lr, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]
    def zero_grad(self):
        for p in self.params:
            p.grad = None
    def step(self):
        self.t += 1
        with torch.no_grad():
            for p, m, v in zip(self.params, self.m, self.v):
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.0).addcmul_(p.grad, p.grad, value=1.0)
                p -= self.lr * m / v.sqrt()  # ORIGIN
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = MyAdam(net.parameters())
for step in range(4):
    x = torch.randn(8, 4)
    if step == 1:
        x[:, 2] = 0  # CAUSE
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
