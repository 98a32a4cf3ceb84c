import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
@torch.compile(backend="aot_eager")
def loss_fn(out, y):
    return (out - y).pow(2).mean()
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    loss = loss_fn(net(torch.randn(8, 4)), torch.randn(8, 3))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
