#cause: divergence
#also: optimizer-epsilon division-by-zero zero-times-infinity half-overflow bad-input
#phase: optimizer
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for step in range(3):
    x = torch.randn(8, 4)
    if step == 1:
        opt.param_groups[0]["weight_decay"] = float("inf")  # CAUSE
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # ORIGIN
    print(step, loss.item())
