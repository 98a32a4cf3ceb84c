#cause: division-by-zero
#phase: forward recompute
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
from torch.utils.checkpoint import checkpoint
class Blk(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.d = nn.Linear(6, 6), nn.Dropout(0.5)
    def inner(self, x):
        h = self.d(torch.relu(self.f(x)))
        return h / h.sum(-1, keepdim=True)  # ORIGIN
    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)
net = nn.Sequential(nn.Linear(6, 6), Blk(), nn.Linear(6, 2))
with torch.no_grad():
    net[1].f.bias.fill_(2.0)
opt = torch.optim.SGD(net.parameters(), 1e-3)
for step in range(3):
    if step == 1:
        with torch.no_grad():
            net[1].f.bias.fill_(-30.0)  # CAUSE
    loss = net(torch.randn(8, 6)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
