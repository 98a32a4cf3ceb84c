#cause: fully-masked-row
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(8, 24)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    q, k, v = net(torch.randn(2, 5, 8)).chunk(3, -1)
    mask = torch.zeros(2, 5, 5)
    if step == 1:
        mask[0, 2] = -torch.inf  # CAUSE
    att = F.softmax(q @ k.mT / 8 ** 0.5 + mask, dim=-1)  # ORIGIN
    loss = (att @ v).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
