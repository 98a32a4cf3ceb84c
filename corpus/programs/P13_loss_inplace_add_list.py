#cause: empty-reduction
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
heads = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])
opt = torch.optim.SGD(heads.parameters(), 0.01)
for step in range(4):
    x, group = torch.randn(9, 4), torch.arange(9) % 3
    if step == 2:
        group[group == 1] = 0  # CAUSE
    loss = torch.zeros(())
    for i, head in enumerate(heads):
        loss += (head(x[group == i]) - 1).pow(2).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
