import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.05)
for step in range(8):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    if step % 3 == 2:
        x[0, 0] = float("nan")
    if not torch.isfinite(x).all():
        print(step, "dropped")
        continue
    loss = F.huber_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
