"""What the heads of one attention see: largest logit, entropy, share of masked keys, rows without a key."""

from __future__ import annotations

from typing import Any

import torch

from nanscope.replay.values import number

Tensor = torch.Tensor
MASKED = -5e3  # a bias or logit from here on down excludes its key: half the smallest constant in use, -1e4
PAIRS_MAX = 1 << 24  # logits that are looked at for their entropy


class Heads:
    """Sums over batch and rows for each of `count` heads."""

    def __init__(self, count: int) -> None:
        zeros = torch.zeros(count, dtype=torch.float64)
        self.largest, self.entropy, self.even = zeros.clone(), zeros.clone(), zeros.clone()
        self.masked, self.pairs, self.rows, self.keyless = zeros.clone(), zeros.clone(), zeros.clone(), zeros.clone()

    def add(self, at: Tensor, raw: Tensor, seen: Tensor, p: Tensor) -> None:
        """Logits [N, G, L, S] without mask, which keys each row sees, and probabilities; `at` [N, G] is the head of each."""
        at = at.reshape(-1).cpu()
        visible = seen.sum(-1)
        entropy = torch.special.entr(p).sum(-1)
        told = (visible > 0) & ~torch.isnan(entropy)
        magnitude = torch.nan_to_num(raw.abs(), nan=0.0, posinf=0.0).masked_fill(~seen, 0.0)
        self.largest.scatter_reduce_(0, at, flat(magnitude.amax((-2, -1))), "amax")
        for total, part in (
            (self.entropy, torch.where(told, entropy, 0.0).sum(-1)),
            (self.even, torch.where(told, visible.clamp(min=1).double().log(), 0.0).sum(-1)),
            (self.masked, (~seen).sum((-2, -1))),
            (self.keyless, (visible == 0).sum(-1)),
            (self.rows, told.sum(-1)),
            (self.pairs, torch.full(at.shape, raw.shape[-1] * raw.shape[-2])),
        ):
            total.index_add_(0, at, flat(part))

    def plain(self) -> list[dict[str, Any]]:
        """`Head`s of the ledger."""
        found = []
        for i in range(len(self.pairs)):
            if not self.pairs[i]:
                continue
            head: dict[str, Any] = {"head": i, "largest": number(self.largest[i].item())}
            head["masked"] = (self.masked[i] / self.pairs[i]).item()
            head["keyless"] = int(self.keyless[i].item())
            if self.rows[i]:
                head["entropy"] = (self.entropy[i] / self.rows[i]).item()
                head["even"] = (self.even[i] / self.rows[i]).item()
            found.append(head)
        return found


def flat(tensor: Tensor) -> Tensor:
    return tensor.reshape(-1).double().cpu()


def of_softmax(logits: Tensor, p: Tensor, heads: int | None) -> Heads | None:
    """Of a softmax over the last dimension: logits [B, H, L, S], [B, L, S], [B * H, L, S] with `heads` known, or [L, S]."""
    if logits.numel() == 0 or logits.numel() > PAIRS_MAX:
        return None
    if logits.dim() == 3 and heads is not None and logits.shape[0] % heads == 0:
        logits, p = (t.unflatten(0, (-1, heads)) for t in (logits, p))
    while logits.dim() < 4:
        logits, p = logits.unsqueeze(-3), p.unsqueeze(-3)
    logits, p = (t.detach().flatten(0, -4).double() for t in (logits, p))
    found = Heads(logits.shape[1])
    at = torch.arange(logits.shape[1]).expand(logits.shape[0], -1)
    found.add(at, logits, seen(logits), p)
    return found


def seen(logits: Tensor) -> Tensor:
    """Which keys a mask that was added or filled in leaves. A finite constant stands apart from all other logits; where there is no
    such gap, only -inf is one."""
    finite = logits.isfinite()
    low = finite & (logits <= MASKED)
    if bool(low.any()):
        rest = logits[finite & ~low]
        if rest.numel() == 0 or float(rest.abs().max()) * 2 < -float(logits[low].max()):
            return ~low & (logits != -torch.inf)
    return logits != -torch.inf
