#cause: where-gradient-trap
#also: division-by-zero infinite-derivative
#phase: backward forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
def safe_div(a, b):
    return torch.where(b == 0, torch.zeros_like(a), a / b)  # ORIGIN
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x, c = torch.randn(6, 4), torch.rand(6, 4) + 0.1
    if step == 1:
        c[1, 1] = 0  # CAUSE
    loss = safe_div(net(x), c).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
