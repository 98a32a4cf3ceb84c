import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(6):
    x = torch.randn(8, 4)
    loss = net(x).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    n = nn.utils.clip_grad_norm_(net.parameters(), float("inf"), norm_type=float("inf"))
    opt.step()
    print(step, loss.item(), n.item())
