#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
w = torch.randn(4, 4, requires_grad=True)
for step in range(4):
    x = torch.randn(6, 4)
    if step == 2:
        x[0] = 0  # CAUSE
    loss = (x @ w).pow(2).sum(1).sqrt().mean()  # ORIGIN
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        w.grad.zero_()
    print(step, loss.item())
