import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class EarlyStop:
    def __init__(self):
        self.best, self.bad = torch.tensor(float("inf")), 0
    def __call__(self, v):
        better = v < self.best
        self.best = torch.minimum(self.best, v)
        self.bad = 0 if better else self.bad + 1
        return self.bad > 3
net, stop = nn.Linear(3, 1), EarlyStop()
opt = torch.optim.Adam(net.parameters(), 1e-2)
best = float("inf")
for step in range(12):
    x = torch.randn(8, 3)
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if loss.item() < best:
        best = loss.item()
    done = stop(loss.detach())
    print(step, best, done)
    if done:
        break
