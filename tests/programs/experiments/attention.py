"""Attention and a checkpointed block; the loss is a logarithm of what may be negative."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = self.qkv(x).view(-1, 5, 3, 2, 8).permute(2, 0, 3, 1, 4)
        return x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(3):
    out = model(torch.randn(4, 5, 16)).square().mean()
    loss = out if step < 2 else (out - 100.0).log()
    opt.zero_grad()
    loss.backward()
    opt.step()
