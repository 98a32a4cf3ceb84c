import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
@torch.compile(backend="eager")
def loss_fn(out, y):
    return F.cross_entropy(out, y) + 1e-3 * out.pow(2).mean()
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    loss = loss_fn(net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
