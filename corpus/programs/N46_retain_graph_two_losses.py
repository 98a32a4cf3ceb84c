#cause: infinite-derivative
#phase: backward
#step: 1
import torch
from torch import nn
torch.manual_seed(0)
enc = nn.Linear(4, 4, bias=False)
h1, h2 = nn.Linear(4, 2), nn.Linear(4, 1)
opt = torch.optim.Adam([*enc.parameters(), *h1.parameters(), *h2.parameters()], 1e-3)
for step in range(3):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    if step == 1:
        x[7] = 0  # CAUSE
    z = enc(x)
    l1 = nn.functional.cross_entropy(h1(z), y)
    l2 = z.abs().sum(1).pow(0.5).mean()  # ORIGIN
    opt.zero_grad()
    l1.backward(retain_graph=True)
    (0.1 * l2 + h2(z).pow(2).mean()).backward()
    opt.step()
    print(step, l1.item(), l2.item())
