#cause: negative-argument
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(6, 3)
    h = net(x)
    if step == 2:
        h = h - 50  # CAUSE
    scale = torch.sqrt(h + 10)  # ORIGIN
    d = torch.distributions.Normal(torch.zeros(6, 2), scale)
    loss = -d.log_prob(torch.randn(6, 2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
