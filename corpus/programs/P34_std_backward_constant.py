#cause: infinite-derivative
#also: division-by-zero
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x = torch.randn(6, 4)
    if step == 1:
        x[:] = x[0]  # CAUSE
    z = net(x)
    loss = F.relu(1 - z.var(0).sqrt()).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
