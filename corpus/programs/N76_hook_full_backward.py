#cause: gradient-edit
#also: division-by-zero
#phase: hook backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
    def forward(self, x):
        return torch.relu(self.f(x))
def unit(module, gin, gout):
    return tuple(None if g is None else g / g.norm(dim=-1, keepdim=True) for g in gin)  # ORIGIN
net = nn.Sequential(nn.Linear(4, 4), Block(), nn.Linear(4, 1))
net[1].register_full_backward_hook(unit)
with torch.no_grad():
    net[1].f.bias.fill_(1.0)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x = torch.randn(8, 4)
    if step == 1:
        with torch.no_grad():
            net[1].f.bias.fill_(-50.0)  # CAUSE
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
