#cause: degenerate-decomposition
#phase: backward
#step: 1
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), 1e-3)
def whiten(x):
    cov = x.T @ x / len(x)
    e, v = torch.linalg.eigh(cov)  # ORIGIN
    return x @ v / (e + 1e-3).sqrt()
for step in range(3):
    x = torch.randn(32, 4)
    if step == 1:
        x = torch.zeros(32, 4)  # CAUSE
    loss = whiten(net(x)).abs().mean() + whiten(net(x))[:, 0].sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
