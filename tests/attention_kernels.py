"""Kernels of attention with planted faults, put in the place of torch's own for the CPU.

A tiled kernel with an online softmax in float32, forward and backward, as FlashAttention does it; `FAULTS` are ways to get it
wrong.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch

Tensor = torch.Tensor
TILE = 16
FAULTS = ("wrong-scale", "mask-off-by-one", "dropped-tile", "padding-in-backward", "dropout-scale", "stale-max")


class Kernel:
    """`fault`: one of `FAULTS`, or `None` for a kernel that is right."""

    def __init__(self, fault: str | None) -> None:
        self.fault = fault

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        p: float,
        causal: bool,
        mask: Tensor | None,
        scale: float | None,
        keep: Any,
    ) -> tuple[Tensor, Tensor]:
        """Output and log sum exp of each row; `keep` is 1 where dropout leaves a probability."""
        queries, keys = q.shape[-2], k.shape[-2]
        best = q.new_full((*q.shape[:-1], 1), -math.inf, dtype=torch.float32)
        total, out = torch.zeros_like(best), torch.zeros(*q.shape[:-1], v.shape[-1])
        for start in range(0, keys, TILE):
            end = min(start + TILE, keys)
            if self.fault == "dropped-tile" and start > 0 and end - start < TILE:
                continue
            s = self._logits(q, k[..., start:end, :], start, queries, causal, mask, scale)
            top = torch.maximum(best, s.amax(-1, keepdim=True))
            safe = top.masked_fill(top == -math.inf, 0.0)
            weights = (s - safe).exp()
            old = 1.0 if self.fault == "stale-max" else (best - safe).exp()
            total = total * old + weights.sum(-1, keepdim=True)
            if keep is not None:
                weights = weights * keep[..., start:end] * self._kept(p)
            out = out * old + weights.to(q.dtype).float() @ v[..., start:end, :].float()
            best = top
        empty = total == 0
        out = torch.where(empty, 0.0, out / total)
        return out.to(q.dtype), torch.where(empty, 0.0, best + total.log()).squeeze(-1)

    def backward(
        self, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, p: float, causal: bool,
        mask: Tensor | None, scale: float | None, keep: Any,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Gradients of query, key and value."""
        row = (grad.float() * out.float()).sum(-1, keepdim=True)
        factor = self._scale(q, scale)
        seen = None if self.fault == "padding-in-backward" else mask
        s = self._logits(q, k, 0, q.shape[-2], causal, seen, scale)
        probabilities = torch.where(s == -math.inf, 0.0, (s - lse[..., None]).exp())
        left = 1.0 if keep is None else keep * self._kept(p)
        grad_v = (probabilities * left).to(q.dtype).float().mT @ grad.float()
        ds = probabilities * ((grad.float() @ v.float().mT) * left - row)
        ds = ds.to(q.dtype).float()
        grad_q, grad_k = ds @ k.float() * factor, ds.mT @ q.float() * factor
        return grad_q.to(q.dtype), grad_k.to(q.dtype), grad_v.to(q.dtype)

    def _scale(self, q: Tensor, scale: float | None) -> float:
        factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
        return factor * 1.1 if self.fault == "wrong-scale" else factor

    def _kept(self, p: float) -> float:
        return 1.0 if self.fault == "dropout-scale" else 1.0 / (1.0 - p)

    def _logits(
        self, q: Tensor, k: Tensor, start: int, queries: int, causal: bool, mask: Tensor | None, scale: float | None
    ) -> Tensor:
        s = q.float() @ k.float().mT * self._scale(q, scale)
        end = start + k.shape[-2]
        if causal:
            last = torch.arange(queries)[:, None] + (self.fault == "mask-off-by-one")
            s = s.masked_fill(torch.arange(start, end)[None, :] > last, -math.inf)
        return s if mask is None else s + mask[..., start:end].float()


@contextlib.contextmanager
def installed(fault: str | None) -> Iterator[None]:
    """The kernels of `scaled_dot_product_attention` on a CPU are these. Those for CUDA, which take dropout, exist on a CPU too."""
    kernel, masks = Kernel(fault), {}
    none = torch.empty(0)

    def plain(
        q: Any, k: Any, v: Any, p: float = 0.0, causal: bool = False, *, attn_mask: Any = None, scale: Any = None
    ) -> Any:
        return kernel.forward(q, k, v, p, causal, attn_mask, scale, None)

    def plain_backward(
        grad: Any,
        q: Any,
        k: Any,
        v: Any,
        out: Any,
        lse: Any,
        p: float,
        causal: bool,
        *,
        attn_mask: Any = None,
        scale: Any = None,
    ) -> Any:
        return kernel.backward(grad, q, k, v, out, lse, p, causal, attn_mask, scale, None)

    def dropped(
        q: Any, k: Any, v: Any, p: float = 0.0, causal: bool = False, debug: bool = False, *, scale: Any = None
    ) -> Any:
        seed = torch.randint(1 << 40, ())
        keep = (torch.rand(*q.shape[:-1], k.shape[-2]) >= p).float()
        masks[int(seed)] = keep
        out, lse = kernel.forward(q, k, v, p, causal, None, scale, keep)
        return (
            out,
            lse,
            none,
            none,
            q.shape[-2],
            k.shape[-2],
            seed,
            torch.zeros((), dtype=torch.int64),
            none,
        )

    def dropped_backward(
        grad: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, _q: Any, _k: Any, _max_q: Any, _max_k: Any, p: float, causal: bool,
        seed: Any, _offset: Any, *, scale: Any = None,
    ) -> Any:  # fmt: skip
        return kernel.backward(grad, q, k, v, out, lse, p, causal, None, scale, masks[int(seed)])

    library = torch.library.Library("aten", "IMPL")
    try:
        name = "_scaled_dot_product_flash_attention"
        library.impl(f"{name}_for_cpu", plain, "CPU", allow_override=True)
        library.impl(f"{name}_for_cpu_backward", plain_backward, "CPU", allow_override=True)
        library.impl(name, dropped, "CPU", allow_override=True)
        library.impl(f"{name}_backward", dropped_backward, "CPU", allow_override=True)
        yield
    finally:
        library._destroy()
