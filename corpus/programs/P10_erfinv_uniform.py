#cause: infinite-derivative
#also: negative-argument log-of-zero
#phase: forward backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    u = torch.sigmoid(net(torch.randn(6, 4)) * (1.0 if step != 1 else 1e3))  # CAUSE
    z = torch.erfinv(2 * u - 1)  # ORIGIN
    loss = z.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
