#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
feats = {}
net = nn.Sequential(nn.Linear(4, 6, bias=False), nn.Tanh(), nn.Linear(6, 2))
net[0].register_forward_hook(lambda m, i, o: feats.__setitem__("h", o))
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[1] = 0  # CAUSE
    out = net(x)
    loss = out.pow(2).mean() + feats["h"].pow(2).sum(1).sqrt().mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
