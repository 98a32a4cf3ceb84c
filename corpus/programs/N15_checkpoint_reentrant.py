#cause: none
#also: where-gradient-trap
#phase: forward
#step: 1
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Linear(d, d)
    def forward(self, x):
        h = torch.relu(self.f(x))
        return x + torch.log(h).clamp(min=-5) * 0.1  # ORIGIN
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = Block(6), Block(6), nn.Linear(6, 2)
    def forward(self, x):
        x = checkpoint(self.a, x, use_reentrant=True)
        return self.out(x)
net = Net()
with torch.no_grad():
    net.a.f.bias.fill_(8.0)
    net.a.f.weight.fill_(0.3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(8, 6, requires_grad=True)
    if step == 1:
        with torch.no_grad():
            x[0] = -40  # CAUSE
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
