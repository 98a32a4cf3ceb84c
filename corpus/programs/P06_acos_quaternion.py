#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
with torch.no_grad():
    net.weight.copy_(torch.eye(4))
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    q = torch.tensor([[1.0, 0, 0, 0], [0.6, 0.8, 0, 0]])
    t = torch.tensor([[0.0, 1, 0, 0], [0.8, 0.6, 0, 0]])
    if step >= 1:
        t[0] = q[0]  # CAUSE
        with torch.no_grad():
            net.weight.copy_(torch.eye(4))
    dot = (net(q) * t).sum(-1)
    loss = torch.acos(dot.clamp(-1, 1)).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
