import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Conv1d(1, 4, 3)
head = nn.Linear(4, 2)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.05)
for step in range(6):
    x = torch.randn(4, 1, 12)
    n = torch.randint(4, 13, (4,))
    h = net(x)
    pad = torch.arange(10)[None, None] >= (n - 2)[:, None, None]
    h = h.masked_fill(pad, -torch.inf).amax(-1)
    loss = F.cross_entropy(head(h), torch.randint(0, 2, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
