#cause: log-of-zero
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
w = nn.Parameter(torch.ones(3) * 0.1)
opt = torch.optim.SGD([w], 1e-6)
for step in range(3):
    h = torch.zeros(3)
    for t in range(9000):
        h = torch.tanh(h * 0.5 + w) + 0.01
        if step == 1 and t == 8999:
            h = h * 0  # CAUSE
    loss = torch.log(h).sum()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
