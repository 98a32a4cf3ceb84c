#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
from torch.autograd.functional import jacobian
net = nn.Linear(3, 3, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x = torch.randn(3)
    if step == 1:
        x = torch.zeros(3)  # CAUSE
    J = jacobian(lambda v: net(v).pow(2).sum().sqrt(), x, create_graph=True)  # ORIGIN
    loss = J.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
