#cause: log-of-zero
#also: infinite-derivative
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 5)
opt = torch.optim.SGD(net.parameters(), 0.01)
def gumbel(u):
    return -torch.log(-torch.log(u))  # ORIGIN
for step in range(3):
    u = torch.rand(6, 5).clamp(0.01, 0.99)
    if step == 1:
        u[0, 0] = 1.0  # CAUSE
    y = ((net(torch.randn(6, 4)) + gumbel(u)) / 0.5).softmax(-1)
    loss = (y - 0.2).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
