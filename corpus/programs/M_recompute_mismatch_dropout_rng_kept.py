# ---
# id: M42
# title: healthy: torch checkpoint over a block with dropout, random state preserved
# verdict: finite
# cause: none
# near: recompute-mismatch
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
torch.manual_seed(41)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.ff = nn.LayerNorm(dim), nn.Linear(dim, dim)

    def forward(self, x):
        return x + F.dropout(F.gelu(self.ff(self.norm(x))), 0.2, self.training)


class Net(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.inp = nn.Linear(6, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(3))
        self.out = nn.Linear(dim, 3)

    def forward(self, x):
        h = self.inp(x)
        for i, block in enumerate(self.blocks):
            h = checkpoint(block, h, use_reentrant=i == 1, preserve_rng_state=True)
        return self.out(h)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for step in range(40):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
