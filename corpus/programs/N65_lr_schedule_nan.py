#cause: division-by-zero
#also: divergence
#phase: optimizer
#step: 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), 1e-3)
def warm(step):
    return torch.tensor(1.0 * step) / torch.tensor(float(3 - step)) if step == 3 else 1.0  # CAUSE
for step in range(6):
    for g in opt.param_groups:
        g["lr"] = 1e-3 * float(warm(step))
    x = torch.randn(8, 4)
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # ORIGIN
    print(step, loss.item())
