#cause: division-by-zero
#phase: param optimizer forward clip
#step: 1 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    x = torch.randn(8, 4)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        if step == 1:
            net.weight[0] = 0  # CAUSE
        net.weight.div_(net.weight.norm(dim=1, keepdim=True))  # ORIGIN
    print(step, loss.item())
