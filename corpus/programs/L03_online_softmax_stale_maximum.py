# ---
# id: L03
# title: a registered attention kernel keeps the maximum of the first tile: exp overflows where a later key has a much larger logit
# verdict: nonfinite
# cause: kernel-mismatch
# detail: stale-maximum
# phase: forward
# step: [8]
# op: aten::_scaled_dot_product_flash_attention_for_cpu
# fix: another-backend
# source: made for this project
# ---
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(63)
FIX = os.environ.get("FIX") == "1"

TILE = 8


def forward(q, k, v, p=0.0, causal=False, *, attn_mask=None, scale=None):
    """Attention tile by tile with a running maximum, as FlashAttention does it."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    best = q.new_full((*q.shape[:-1], 1), -torch.inf)
    total, out = torch.zeros_like(best), torch.zeros(*q.shape[:-1], v.shape[-1])
    row = torch.arange(q.shape[-2])[:, None]
    for start in range(0, k.shape[-2], TILE):
        tile = slice(start, start + TILE)
        s = q @ k[..., tile, :].mT * scale
        if causal:
            s = s.masked_fill(torch.arange(start, start + s.shape[-1]) > row, -torch.inf)
        if attn_mask is not None:
            s = s + attn_mask[..., tile]
        top = torch.maximum(best, s.amax(-1, keepdim=True)) if FIX or start == 0 else best
        safe = top.masked_fill(top == -torch.inf, 0.0)
        weights = (s - safe).exp()
        old = (best - safe).exp()
        total = total * old + weights.sum(-1, keepdim=True)
        out = out * old + weights @ v[..., tile, :]
        best = top
    return out / total, (best + total.log()).squeeze(-1)


def backward(grad, q, k, v, out, lse, p, causal, *, attn_mask=None, scale=None):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    s = q @ k.mT * scale
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf)
    if attn_mask is not None:
        s = s + attn_mask
    weights = (s - lse[..., None]).exp()
    d = weights * (grad @ v.mT - (grad * out).sum(-1, keepdim=True))
    return d @ k * scale, d.mT @ q * scale, weights.mT @ grad


library = torch.library.Library("aten", "IMPL")
library.impl("_scaled_dot_product_flash_attention_for_cpu", forward, "CPU", allow_override=True)
library.impl("_scaled_dot_product_flash_attention_for_cpu_backward", backward, "CPU", allow_override=True)


class Head(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        parts = (part(x).unflatten(-1, (2, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        return F.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)


class Reader(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.lift, self.attention, self.out = nn.Linear(3, dim), Head(dim), nn.Linear(dim, 1)

    def forward(self, x):
        h = self.lift(x)
        return self.out(h + self.attention(h)).squeeze(-1)


net = Reader()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(30):
    x = torch.randn(8, 20, 3)
    if step % 9 == 8:
        x[:, 14] *= 80.0
    y = x[:, 14, :].sum(-1, keepdim=True).sign().expand(-1, 20)
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if step % 6 == 0:
        print(step, loss.item())
