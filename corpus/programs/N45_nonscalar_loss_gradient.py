#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(5, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(8, 5)
    area = torch.rand(8, 1) + 0.1
    if step == 2:
        area[4] = 0  # CAUSE
    per_sample = net(x).pow(2) / area  # ORIGIN
    opt.zero_grad()
    per_sample.backward(gradient=torch.full_like(per_sample, 1 / per_sample.numel()))
    opt.step()
    print(step, per_sample.mean().item())
