# ---
# id: L02
# title: a registered attention kernel forgets in backward which keys are padding
# verdict: mismatch
# cause: kernel-mismatch
# detail: padding-in-backward
# phase: backward
# step: [3]
# op: aten::_scaled_dot_product_flash_attention_for_cpu_backward
# fix: another-backend
# source: made for this project
# ---
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(62)
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
    if attn_mask is not None and FIX:
        s = s + attn_mask
    weights = (s - lse[..., None]).exp()
    d = weights * (grad @ v.mT - (grad * out).sum(-1, keepdim=True))
    return d @ k * scale, d.mT @ q * scale, weights.mT @ grad


library = torch.library.Library("aten", "IMPL")
library.impl("_scaled_dot_product_flash_attention_for_cpu", forward, "CPU", allow_override=True)
library.impl("_scaled_dot_product_flash_attention_for_cpu_backward", backward, "CPU", allow_override=True)


class Pooler(nn.Module):
    """Reads sequences of several lengths with a learned query per class."""

    def __init__(self, dim=24, heads=3, classes=5):
        super().__init__()
        self.heads = heads
        self.query = nn.Parameter(torch.randn(1, classes, dim))
        self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, valid):
        q = self.split(self.query.expand(len(x), -1, -1))
        mask = valid[:, None, None, :].expand(-1, -1, q.shape[-2], -1)
        y = F.scaled_dot_product_attention(q, self.split(self.key(x)), self.split(self.value(x)), attn_mask=mask)
        return self.score(y.transpose(1, 2).flatten(2)).squeeze(-1)


net = Pooler()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(16):
    x = torch.randn(10, 13, 24)
    lengths = torch.full((10,), 13) if step < 3 else torch.randint(4, 14, (10,))
    valid = torch.arange(13) < lengths[:, None]
    target = (x * valid[..., None]).sum(1)[:, :5].argmax(-1)
    loss = F.cross_entropy(net(x, valid), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 0:
        print(step, loss.item())
