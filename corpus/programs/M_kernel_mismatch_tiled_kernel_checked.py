# ---
# id: M50
# title: healthy: a registered tiled kernel that is right, masks, grouped queries, dropout and logits by the hundred, compared in every step
# verdict: finite
# cause: none
# near: kernel-mismatch
# source: made for this project
# ---
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(64)

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
    if attn_mask is not None:
        s = s + attn_mask
    weights = (s - lse[..., None]).exp()
    d = weights * (grad @ v.mT - (grad * out).sum(-1, keepdim=True))
    return d @ k * scale, d.mT @ q * scale, weights.mT @ grad


library = torch.library.Library("aten", "IMPL")
library.impl("_scaled_dot_product_flash_attention_for_cpu", forward, "CPU", allow_override=True)
library.impl("_scaled_dot_product_flash_attention_for_cpu_backward", backward, "CPU", allow_override=True)


class Mixed(nn.Module):
    """The kernel of above in float32 with padding and causality, torch's own in bfloat16 with grouped queries, and logits by the hundred."""

    def __init__(self, dim=32):
        super().__init__()
        self.qkv, self.grouped, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, 6)

    def forward(self, x, valid):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        causal = torch.ones(x.shape[1], x.shape[1]).tril().bool()
        first = F.scaled_dot_product_attention(40 * q, k, v, attn_mask=(causal & valid[:, None, None, :]).expand(-1, 4, -1, -1))
        query, key, value = self.grouped(x).double().split((32, 16, 16), -1)
        parts = (part.unflatten(-1, (-1, 8)).transpose(1, 2) for part in (query, key, value))
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            second = F.scaled_dot_product_attention(*parts, is_causal=True, enable_gqa=True, dropout_p=0.1)
        both = torch.cat([first, second.float()], 1).transpose(1, 2).flatten(2)
        return self.out(both[:, -1])


net = Mixed()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(25):
    x = torch.randn(6, 19, 32)
    valid = torch.arange(19) >= torch.randint(0, 4, (6, 1))
    valid[:, 0] = True
    loss = F.cross_entropy(net(x, valid), x[:, -1, :6].argmax(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, loss.item())
