import torch
from digest import show
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.2)) for _ in range(3))
tail = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())
opt = torch.optim.SGD([*blocks.parameters(), *tail.parameters()], lr=0.1)
for step in range(6):
    x = torch.randn(4, 8)
    h = x.clone().requires_grad_()
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=step % 2 == 1)
    h = checkpoint_sequential(tail, 2, h, use_reentrant=False)
    loss = (h - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
show(blocks, tail, opt)
