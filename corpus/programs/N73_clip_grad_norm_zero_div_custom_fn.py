#cause: gradient-edit
#also: division-by-zero bad-input
#phase: clip hook optimizer
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    weight = 0.0 if step == 1 else 1.0  # CAUSE
    for p in net.parameters():
        p.grad.data.div_(weight)  # ORIGIN
        p.grad.data.mul_(0.5)
    opt.step()
    print(step, loss.item())
