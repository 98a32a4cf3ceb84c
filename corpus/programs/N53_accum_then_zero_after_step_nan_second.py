#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.AdamW(net.parameters(), 1e-3)
opt.zero_grad()
for i in range(12):
    x = torch.randn(6, 4)
    if i == 4:
        x[0] = 0  # CAUSE
    loss = net(x).pow(2).sum(1).sqrt().mean() / 4  # ORIGIN
    loss.backward()
    if (i + 1) % 4 == 0:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        print(i, loss.item())
