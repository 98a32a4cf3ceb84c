#cause: negative-argument
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
    def forward(self, x):
        return torch.log(self.f(x))  # ORIGIN
with torch.no_grad():
    g = Gate()
    g.f.bias.fill_(9.0)
net = torch.jit.script(g)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[1] = x[1] * 1000  # CAUSE
    loss = net(x).pow(2).mean()  # CAUSE
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
