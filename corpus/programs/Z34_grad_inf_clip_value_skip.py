import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(6):
    x = torch.randn(4, 4)
    if step == 3:
        x[0] = 0
    loss = net(x).pow(2).sum(1).sqrt().mean()
    opt.zero_grad()
    loss.backward()
    n = nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=False)
    if not torch.isfinite(n):
        print(step, "skip")
        opt.zero_grad()
        continue
    opt.step()
    print(step, loss.item())
