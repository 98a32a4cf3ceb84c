#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4, bias=False)
    def forward(self, x):
        h = self.f(x)
        self.reg = h.pow(2).sum(1).sqrt().mean()  # ORIGIN
        return torch.tanh(h)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[1] = 0  # CAUSE
    loss = net(x).pow(2).mean() + 0.1 * net.reg
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
