#cause: empty-reduction
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(7, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(6):
    x = torch.randn(12, 7)
    keep = torch.rand(12) > 0.3
    if step == 2:
        keep[:] = False  # CAUSE
    out = net(x)
    loss = out[keep].pow(2).mean()  # ORIGIN
    if not torch.isfinite(loss):
        print("loss is not finite, stopping")
        break
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
