import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
fast = torch.compile(model, backend="eager")


@torch.compile(backend="eager")
def distance(a, b):
    return (a - b).square().mean()


opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    x = torch.randn(4, 8)
    loss = distance(fast(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
show(model, opt)
