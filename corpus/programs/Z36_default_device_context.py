import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
torch.set_default_device("cpu")
with torch.device("cpu"):
    net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    with torch.device("cpu"):
        x = torch.randn(6, 4)
        loss = net(x).pow(2).mean() + (x * 0).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
