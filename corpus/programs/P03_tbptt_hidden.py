#cause: exp-overflow
#phase: forward
#step: 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
cell, out = nn.GRUCell(3, 8), nn.Linear(8, 1)
opt = torch.optim.RMSprop([*cell.parameters(), *out.parameters()], 1e-3)
h = torch.zeros(4, 8)
for step in range(5):
    h = h.detach()
    loss = 0.0
    for t in range(5):
        h = cell(torch.randn(4, 3), h)
        rate = out(h).abs() * (4000.0 if step == 3 else 1.0)  # CAUSE
        loss += (torch.exp(rate) - rate).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
