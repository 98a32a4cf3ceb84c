#cause: outlier-input
#also: exp-overflow half-overflow
#phase: forward data
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = nn.Linear(8, 1)
    def forward(self, x):
        return self.b(self.a(x).pow(4))  # ORIGIN
net = Net()
opt = torch.optim.SGD(net.parameters(), 1e-4)
for step in range(4):
    x = torch.randn(8, 4)
    y = x.sum(1, keepdim=True)
    if step == 2:
        x[5].mul_(1e12)  # CAUSE
    loss = nn.functional.l1_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
