#cause: log-of-zero
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
@torch.compile(backend="eager")
def focal(p, y):
    return -(y * (1 - p) ** 2 * torch.log(p)).sum(1).mean()  # ORIGIN
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x = torch.randn(8, 4)
    if step == 1:
        x *= 500  # CAUSE
    y = F.one_hot(torch.randint(0, 3, (8,)), 3).float()
    loss = focal(net(x).softmax(-1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
