#cause: division-by-zero
#phase: param clip optimizer forward
#step: 2 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
with torch.no_grad():
    net.weight.div_(net.weight.sum() * 0)  # ORIGIN
print(net.weight.sum().item())
