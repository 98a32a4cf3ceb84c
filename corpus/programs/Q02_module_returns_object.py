#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Out:
    __slots__ = ("z", "y")
    def __init__(self, z, y):
        self.z, self.y = z, y
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4, bias=False), nn.Linear(4, 2)
    def forward(self, x):
        z = self.a(x)
        return Out(z, self.b(z))
net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[0] = 0  # CAUSE
    out = net(x)
    loss = out.y.pow(2).mean() + out.z.pow(2).sum(1).sqrt().mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
