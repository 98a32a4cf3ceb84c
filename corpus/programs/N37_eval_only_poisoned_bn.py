#cause: outlier-input
#also: poisoned-state
#phase: forward
#step: 2 5
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(5):
    x = torch.randn(16, 4)
    if step == 2:
        x[0] = 3e20  # CAUSE
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 2, (16,)))  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
net.eval()
with torch.no_grad():
    print("eval", nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.zeros(8).long()).item())
