#cause: exp-overflow
#also: half-overflow outlier-input
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
A = nn.Parameter(torch.randn(4, 4) * 0.1)
opt = torch.optim.Adam([A], 1e-3)
for step in range(4):
    t = torch.rand(3) * (1.0 if step != 2 else 4000.0)  # CAUSE
    y = torch.linalg.matrix_exp(A[None] * t[:, None, None])  # ORIGIN
    loss = (y - torch.eye(4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
