# ---
# id: K04
# title: a residual stream is added to in place after a hand-written checkpoint has remembered it without saving it
# verdict: mismatch
# cause: recompute-mismatch
# detail: input-changed-in-place
# phase: recompute
# step: [0]
# op: aten::native_layer_norm
# fix: keep-a-copy
# source: made for this project
# note: "save_for_backward would have noticed; an attribute of ctx does not"
# ---
import os

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(17)


class Remember(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x, *weights):
        ctx.block, ctx.weights = block, weights
        ctx.x = x.detach().clone() if FIX else x.detach()
        with torch.no_grad():
            return block(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.x.detach().requires_grad_()
        with torch.enable_grad():
            out = ctx.block(x)
        return None, *torch.autograd.grad(out, (x, *ctx.weights), gradient)


class Feed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        h = self.norm(x)  # <-- ORIGIN
        return self.down(F.gelu(self.up(h)))


class Net(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.inp = nn.Linear(8, width)
        self.feeds = nn.ModuleList(Feed(width) for _ in range(3))
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        stream = self.inp(x)
        for feed in self.feeds:
            stream += Remember.apply(feed, stream, *feed.parameters())  # <-- CAUSE
        return self.out(stream)


net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(32, 8)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
