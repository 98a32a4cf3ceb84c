# ---
# id: K02
# title: checkpoint written by hand runs the block again outside autocast
# verdict: mismatch
# cause: recompute-mismatch
# detail: autocast-not-restored
# phase: recompute
# step: [0]
# op: aten::addmm
# fix: restore-autocast
# source: made for this project
# note: "forward is in bfloat16, backward is called after the autocast block has ended"
# ---
import os

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(11)


class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x, *weights):
        ctx.block, ctx.weights = block, weights
        ctx.autocast = torch.is_autocast_enabled("cpu")
        ctx.save_for_backward(x)
        with torch.no_grad():
            return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=FIX and ctx.autocast):
            out = ctx.block(x)  # <-- ORIGIN
        found = torch.autograd.grad(out, (x, *ctx.weights), gradient.to(out.dtype))
        return None, *found


class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inp = nn.Linear(6, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width)) for _ in range(2)
        )
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x).float()
        for block in self.blocks:
            h = h + Again.apply(block, h, *block.parameters())
        return self.out(h)


model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(24, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        guess = model(x)
    loss = F.smooth_l1_loss(guess.float().squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
