#cause: exp-overflow
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x = torch.randn(6, 4)
    z = net(x)
    z[2] *= 1000 if step == 1 else 1  # CAUSE
    z[:, 0].abs_()
    e = z.exp()  # ORIGIN
    loss = (e / e.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
