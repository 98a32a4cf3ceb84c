"""Scaled dot-product attention by its formula in float64, forward and backward.

    S = scale Q K^T + bias,   P = softmax(S),   O = P V
    dV = P^T dO,   dP = dO V^T,   D = rowsum(dO * O),   dS = P (dP - D),   dQ = scale dS K,   dK = scale dS^T Q

(FlashAttention-2, https://arxiv.org/abs/2307.08691, section 2.3.) A row of P without a key is 0, and so is what follows from it.
Heads that share a key head (grouped queries) lie side by side in dimension 1; their dK and dV are summed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

Tensor = torch.Tensor


@dataclass
class Inputs:
    """All in float64. `N` pairs of batch element and key head, `G` query heads each, `L` queries, `S` keys."""

    query: Tensor  # [N, G, L, D]
    key: Tensor  # [N, 1, S, D]
    value: Tensor  # [N, 1, S, Dv]
    bias: Tensor | None  # [N, G, L, S], -inf where a key is not seen
    scale: float


class Forward:
    """`raw` [N, G, L, S]: scale Q K^T without bias. `keyless` [N, G, L]: rows without a key."""

    def __init__(self, x: Inputs) -> None:
        self.raw = (x.query @ x.key.mT) * x.scale
        self.logits = self.raw if x.bias is None else self.raw + x.bias
        self.top = self.logits.amax(-1, keepdim=True)
        self.keyless = self.top.squeeze(-1) == -torch.inf
        self.top.masked_fill_(self.keyless[..., None], 0.0)
        self.lse = torch.logsumexp(self.logits - self.top, -1, keepdim=True) + self.top
        self.lse.masked_fill_(self.keyless[..., None], 0.0)
        self.log_p = self.logits - self.lse
        self.p = self.log_p.exp()
        self.out = self.p @ x.value


class Backward:
    """Gradients for `grad_out` [N, G, L, Dv]: `query` [N, G, L, D], `key` [N, 1, S, D], `value` [N, 1, S, Dv] and `bias`
    [N, G, L, S]."""

    def __init__(self, x: Inputs, f: Forward, grad_out: Tensor) -> None:
        self.grad_out = grad_out
        self.value = (f.p.mT @ grad_out).sum(1, keepdim=True)
        self.grad_p = grad_out @ x.value.mT
        self.row = (grad_out * f.out).sum(-1, keepdim=True)
        self.bias = f.p * (self.grad_p - self.row)
        self.query = (self.bias @ x.key) * x.scale
        self.key = (self.bias.mT @ x.query).sum(1, keepdim=True) * x.scale
