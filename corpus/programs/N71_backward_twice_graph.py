#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 3, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x = torch.randn(4, 3)
    if step == 1:
        x[0] = 0
    h = net(x)
    a = h.pow(2).mean()
    b = h[0].pow(2).sum() ** 0.25  # ORIGIN
    opt.zero_grad()
    torch.autograd.backward([a, b], retain_graph=True)
    a.backward()
    opt.step()
    print(step, a.item(), b.item())
