#cause: epsilon-lost
#also: log-of-zero
#phase: forward
#step: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 1).bfloat16()
with torch.no_grad():
    net.bias.fill_(30.0)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(2):
    p = torch.sigmoid(net(torch.randn(6, 4).bfloat16())).clamp(1e-6, 1 - 1e-6)  # CAUSE
    loss = -torch.log(1 - p).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
