import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(1500):
    x = torch.randn(6, 4)
    h = net(x)
    for _ in range(20):
        h = torch.tanh(h + 0.1)
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(step, loss.item())
