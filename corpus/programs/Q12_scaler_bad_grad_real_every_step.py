#verdict: unhealthy
#cause: loss-scale-collapse
#also: infinite-derivative
#phase: backward
#step: 0
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 16)
for step in range(60):
    x = torch.randn(6, 4)
    x[0] = 0  # CAUSE
    loss = net(x).pow(2).sum(1).sqrt().mean()  # ORIGIN
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
print(loss.item(), scaler.get_scale())
