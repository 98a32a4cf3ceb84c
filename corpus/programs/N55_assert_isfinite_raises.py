#cause: negative-argument
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    x = torch.rand(6, 4)
    with torch.no_grad():
        net.weight.fill_(0.5)
    if step == 2:
        x[3] = -5  # CAUSE
    loss = torch.sqrt(net(x)).mean()  # ORIGIN
    if not torch.isfinite(loss):
        raise RuntimeError(f"non-finite loss at {step}")
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
