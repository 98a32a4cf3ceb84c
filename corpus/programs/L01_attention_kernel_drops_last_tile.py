# ---
# id: L01
# title: a registered attention kernel skips the last tile of keys where their number is no multiple of the tile
# verdict: mismatch
# cause: kernel-mismatch
# detail: last-tile-dropped
# phase: forward
# step: [1]
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
torch.manual_seed(61)
FIX = os.environ.get("FIX") == "1"

TILE = 8


def forward(q, k, v, p=0.0, causal=False, *, attn_mask=None, scale=None):
    """Attention tile by tile with a running maximum, as FlashAttention does it."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    best = q.new_full((*q.shape[:-1], 1), -torch.inf)
    total, out = torch.zeros_like(best), torch.zeros(*q.shape[:-1], v.shape[-1])
    row = torch.arange(q.shape[-2])[:, None]
    for start in range(0, k.shape[-2] if FIX else k.shape[-2] // TILE * TILE or TILE, TILE):
        tile = slice(start, start + TILE)
        s = q @ k[..., tile, :].mT * scale
        if causal:
            s = s.masked_fill(torch.arange(start, start + s.shape[-1]) > row, -torch.inf)
        if attn_mask is not None:
            s = s + attn_mask[..., tile]
        top = torch.maximum(best, s.amax(-1, keepdim=True))
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


class Block(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(b, t, -1))


class Retrieval(nn.Module):
    """Which of the tokens of a sequence is the marked one?"""

    def __init__(self, tokens=16, dim=32):
        super().__init__()
        self.embed, self.mark = nn.Embedding(tokens, dim), nn.Embedding(2, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(2)])
        self.head = nn.Linear(dim, tokens)

    def forward(self, x, marks):
        h = self.embed(x) + self.mark(marks)
        for block in self.blocks:
            h = block(h)
        return self.head(h.mean(1))


net = Retrieval()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for step in range(20):
    length = 16 + 2 * (step % 3)
    x = torch.randint(0, 16, (12, length))
    at = torch.randint(0, length, (12,))
    loss = F.cross_entropy(net(x, F.one_hot(at, length)), x[torch.arange(12), at])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, loss.item())
