#cause: outlier-input
#also: poisoned-state half-overflow
#phase: forward
#step: 1 4
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.bn, self.f = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)
    def forward(self, x):
        return self.f(self.bn(self.c(x)).relu().mean((2, 3)))  # ORIGIN
net = Cnn()
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    x = torch.randn(4, 1, 6, 6)
    if step == 1:
        x[2] *= 1e25  # CAUSE
    loss = F.cross_entropy(net(x), torch.randint(0, 2, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
net.eval()
print("eval", net(torch.randn(2, 1, 6, 6)).sum().item(), net.bn.running_var.isfinite().all().item())
