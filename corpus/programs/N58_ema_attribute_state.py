#cause: division-by-zero
#also: poisoned-state zero-times-infinity
#phase: forward param data
#step: 2 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 2)
        self.ema = torch.ones(4)
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        self.ema = 0.0 * self.ema + x.detach().std(0)
        return self.f(x / self.ema)  # ORIGIN
net = Scale()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(5):
    x = torch.randn(8, 4)
    if step == 2:
        x[:, 1] = 3.0
        x[:, 1] = 0  # CAUSE
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), net.calls)
