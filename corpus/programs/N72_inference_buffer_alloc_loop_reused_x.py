#cause: outlier-input
#also: exp-overflow
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.01)
x = torch.randn(8, 4)
for step in range(4):
    x.mul_(1.0 + 90 * step)  # CAUSE
    z = net(x)
    loss = torch.log1p(z.exp()).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    x.normal_()
    opt.step()
    print(step, loss.item())
