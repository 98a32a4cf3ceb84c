#cause: division-by-zero
#also: zero-times-infinity
#phase: forward
#step: 1
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
torch.manual_seed(0)
net = nn.Sequential(weight_norm(nn.Linear(4, 4)), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    if step == 1:
        with torch.no_grad():
            net[0].parametrizations.weight.original1[2] = 0  # CAUSE
    x = torch.randn(8, 4)
    out = net(x)  # ORIGIN
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
