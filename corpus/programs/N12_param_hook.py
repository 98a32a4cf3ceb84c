#cause: gradient-edit
#also: division-by-zero
#phase: hook backward
#step: 1
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
def normalise(g):
    return g / g.abs().amax()  # ORIGIN
for p in net.parameters():
    p.register_hook(normalise)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(8, 4)
    if step == 1:
        x = torch.zeros(8, 4)  # CAUSE
    y = torch.randn(8, 2)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
