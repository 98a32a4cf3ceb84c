"""How far a kernel of attention may be from the formula, element by element: a bound from its number formats, nothing tuned.

Written `u` is the unit roundoff of the sums, `w` that of the format in which operands and results are stored. A sum of n products
is off by at most gamma(n) = n u / (1 - n u) times the sum of their magnitudes (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd edition, section 3.1). From there:

- a logit is off by d <= gamma(D + 3) scale sum|q||k| + 2 u (|s| + |bias|), and by w |s| where products are stored narrow;
- exp(s - max) adds 4 u (|s| + |max|) for its argument and `EXP` u for itself, once more for every tile after which the running
  maximum may have been corrected. Where P is stored in 16 bits exp may be coarser, w / 4. Let x_ij be the sum of all of these:
  the kernel's exponential is the true one times e^t, |t| <= x;
- normalised, with X_i = log(sum_j p_ij e^x_ij), the kernel's p_ij lies between p_ij e^-(x + X) and p_ij e^(x + X), since by
  Cauchy-Schwarz sum p e^-x >= 1 / sum p e^x. No first-order approximation is made, so that large logits are covered too;
- everything after that is products and sums with these intervals, with one rounding to the stored format for P, dS and each result.

Sources for what kernels do: FlashAttentionKernel.cpp of torch (P and dS stored in the type of the input; on CPUs without
16-bit matrix units gemm goes through that type as well, and gradients are accumulated in it over tiles of at least 32 rows), and
FlashAttention-2 (the same, with sums in float32).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from nanscope.attention.formula import Backward, Forward, Inputs

Tensor = torch.Tensor
EXP = 32.0  # units of the last place: 1 for Sleef, 2 for ex2.approx of CUDA, 4 for a product with log2(e)
COARSE = 0.25  # of `w`: for 16-bit inputs torch takes fexp_u20 on a CPU, of which exp(0) is 1 - 5.4e-5
TILE = 32  # rows of the smallest tile
LARGE = 60.0  # an exponent from which on nothing can be told


@dataclass(frozen=True)
class Rounding:
    """Formats of a kernel. `sums` and `stored` are unit roundoffs, `smallest` and `smallest_sum` the absolute errors of the
    smallest numbers, `exp` the relative error of an exponential, `largest` the largest finite value. `narrow`: sums over tiles
    are kept in the stored format."""

    sums: float
    stored: float
    smallest: float
    largest: float
    narrow: bool
    smallest_sum: float
    exp: float

    @classmethod
    def of(cls, dtype: torch.dtype, device: str) -> Rounding:
        """That of kernels for `dtype`: sums in float32 at least; twice the unit roundoff, since matrix units may truncate."""
        kept = torch.finfo(dtype)
        wide = torch.finfo(torch.float64 if dtype is torch.float64 else torch.float32)
        half = dtype in (torch.float16, torch.bfloat16)
        stored = kept.eps / 2
        if dtype is torch.float32 and device == "cuda" and torch.backends.cuda.matmul.allow_tf32:
            stored = 2.0**-10
        # float64 is compared with float64: the formula itself is off by as much
        sums = wide.eps * (2.0 if dtype is torch.float64 else 1.0)
        # In formats with the exponents of float32 what is smaller than the smallest normal number may be flushed.
        smallest = kept.tiny * kept.eps / 2 if dtype is torch.float16 else kept.tiny
        return cls(
            sums, stored, smallest, kept.max, half and device == "cpu", wide.tiny, EXP * sums + half * COARSE * stored
        )

    def gamma(self, n: float) -> float:
        """Relative error of a sum of `n` products."""
        return n * self.sums / (1 - n * self.sums)

    def least(self, rows: int, heads: int) -> float:
        """Absolute error of a sum over so many rows and heads whose parts are among the smallest numbers."""
        tiles = math.ceil(rows / TILE) if self.narrow else 1
        return self.smallest * (tiles + heads) + self.smallest_sum * (rows * heads + 1)


class ForwardBound:
    """`x` and `mean` as above; `p` [N, G, L, S] and `out` [N, G, L, Dv], `lse` [N, G, L, 1]: largest absolute errors.
    `overflow` [N, G, L]: rows of which a product may leave the stored format before it is scaled."""

    def __init__(self, inputs: Inputs, f: Forward, r: Rounding) -> None:
        u, keys = r.sums, f.logits.shape[-1]
        tiles = math.ceil(keys / TILE)
        size = (inputs.query.abs() @ inputs.key.abs().mT) * abs(inputs.scale)
        seen = f.logits != -torch.inf
        off = size * (r.gamma(inputs.query.shape[-1] + 3) + tf32(r)) + f.raw.abs() * narrow(r)
        magnitude = torch.where(seen, f.logits, 0.0).abs()
        if inputs.bias is not None:
            magnitude = magnitude + torch.where(seen, inputs.bias, 0.0).abs() + f.raw.abs()
        self.x = off + u * (6 * magnitude + 4 * f.top.abs()) + EXP * u * tiles + r.exp
        self.mean = torch.logsumexp(f.log_p + self.x, -1, keepdim=True).masked_fill(f.keyless[..., None], 0.0)
        self.p = scaled(f.p, f.log_p, self.x + self.mean).clamp_(max=1.0)
        weights = f.p + self.p
        value = inputs.value.abs()
        spread = self.p + r.stored * weights + seen * (r.smallest + r.smallest_sum)
        sums = r.gamma(keys + tiles + 4) + tf32(r) + (r.stored if r.narrow else 0.0)
        # An outlier among the values does not hide the others: the sum is over its own column alone.
        self.out = (spread + sums * weights) @ value + r.stored * f.out.abs() + r.least(keys, 1)
        self.lse = self.mean + u * (4 * (f.lse.abs() + f.top.abs()) + EXP)
        largest = (size / abs(inputs.scale) if inputs.scale else size).amax(-1)
        self.overflow = largest * 1.01 > r.largest if r.stored > 2.0**-20 else torch.zeros_like(f.keyless)


class BackwardBound:
    """Largest absolute errors of `query`, `key`, `value` and `bias`, shaped as in `Backward`."""

    def __init__(self, inputs: Inputs, f: Forward, b: Backward, ahead: ForwardBound, r: Rounding) -> None:
        u, (_, groups, queries, width) = r.sums, b.grad_out.shape
        keys = f.logits.shape[-1]
        p = scaled(f.p, f.log_p, ahead.x + ahead.lse)
        high = f.p + p
        seen = f.logits != -torch.inf
        grad_out = b.grad_out.abs()
        over_queries = r.gamma(groups * queries + 4) + tf32(r) + kept(r, queries, groups)
        over_keys = r.gamma(keys + 4) + tf32(r) + kept(r, keys, 1)
        weights = p + r.stored * high + seen * r.smallest + over_queries * high
        self.value = (weights.mT @ grad_out).sum(1, keepdim=True) + r.stored * b.value.abs() + r.least(queries, groups)
        products = grad_out @ inputs.value.abs().mT
        grad_p = products * (r.gamma(width + 3) + tf32(r)) + b.grad_p.abs() * narrow(r)
        row = (grad_out * (ahead.out + r.gamma(width + 3) * (f.out.abs() + ahead.out))).sum(-1, keepdim=True)
        apart = (b.grad_p - b.row).abs()
        self.bias = p * apart + high * (grad_p + row + 3 * u * (b.grad_p.abs() + b.row.abs()))
        self.bias = (
            self.bias
            + r.stored * (b.bias.abs() + self.bias)
            + seen * r.smallest * max(1.0, 1 / (abs(inputs.scale) or 1.0))
        )
        high = b.bias.abs() + self.bias
        scale, key, query = abs(inputs.scale), inputs.key.abs(), inputs.query.abs()
        self.query = ((self.bias + over_keys * high) @ key) * scale + r.stored * b.query.abs() + r.least(keys, 1)
        by_query = (self.bias + over_queries * high).mT @ query
        self.key = by_query.sum(1, keepdim=True) * scale + r.stored * b.key.abs() + r.least(queries, groups)


def scaled(p: Tensor, log_p: Tensor, x: Tensor) -> Tensor:
    """p (e^x - 1), by way of the logarithm where p is 0 or x is large; a number without meaning beyond e^`LARGE`."""
    return torch.where(x < 1, p * torch.expm1(x.clamp(max=1)), (log_p + x).clamp(max=LARGE).exp())


def narrow(r: Rounding) -> float:
    """Relative error of a product that is stored before it is used."""
    return r.stored if r.narrow else 0.0


def tf32(r: Rounding) -> float:
    """Relative error of products of float32 numbers of which matrix units read 11 bits."""
    return 4 * r.stored if r.stored == 2.0**-10 else 0.0


def kept(r: Rounding, rows: int, heads: int) -> float:
    """Relative error of sums over tiles that are kept in the stored format, and of those over heads that share a key head."""
    tiles = math.ceil(rows / TILE) if r.narrow else 0
    return r.stored * (tiles + (heads if heads > 1 else 0))
