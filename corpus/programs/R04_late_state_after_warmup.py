#cause: division-by-zero
#also: zero-times-infinity
#phase: forward
#step: 6
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.calls, self.scale = nn.Linear(3, 2), [], None
    def forward(self, x):
        h = self.f(x)
        if len(self.calls) < 1:
            self.calls.append(1)
        if self.step > 4:
            prev, self.scale = self.scale, h.detach().std(0)
            if prev is not None:
                h = h / (self.scale - prev)  # ORIGIN
        return h
net = Norm()
opt = torch.optim.SGD(net.parameters(), 0.0)
x0 = torch.randn(8, 3)
for step in range(9):
    net.step = step
    x = x0 if step >= 5 else torch.randn(8, 3)  # CAUSE
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
