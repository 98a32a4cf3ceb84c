#cause: log-of-zero
#phase: forward
#step: 2
import sys
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(5, 3)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(5):
    x = torch.randn(8, 5)
    if step == 2:
        x *= 300  # CAUSE
    p = net(x).softmax(-1)
    loss = -p.log().mean()  # ORIGIN
    loss.backward()
    if not loss.isfinite():
        print("giving up")
        sys.exit(3)
    opt.step()
    opt.zero_grad()
    print(step, loss.item())
