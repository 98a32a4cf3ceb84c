#cause: bad-input
#also: poisoned-state uninitialised-memory
#phase: param
#step: 1
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
emb, head = nn.Embedding(10, 4), nn.Linear(4, 2)
table = torch.randn(10, 4)
table[7] = float("nan")  # CAUSE
emb.weight.data.copy_(table)
opt = torch.optim.Adam([*emb.parameters(), *head.parameters()], 1e-3)
for step in range(3):
    ids = torch.randint(0, 7, (6,))
    if step == 1:
        ids[2] = 7
    loss = F.cross_entropy(head(emb(ids)), torch.zeros(6).long())  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
