"""A tensor as it was at one moment: a digest of all of it, and a sample of its values."""

from __future__ import annotations

import math
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.recorder import storage_id
from nanscope.replay.values import number, readable, unravel

Tensor = torch.Tensor
SAMPLE = 4096  # elements of a result that are kept; every so-many-th of a larger one
ROUNDING = 1000.0  # differences of up to so many units in the last place may come from the order of additions
LOOSEST = 0.05


class Value:
    """One tensor as it was: what it holds by its digest (`None`: unreadable), and every `stride`-th element."""

    __slots__ = ("device", "digest", "dtype", "name", "shape", "storage", "stride", "values")

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name = name
        self.dtype = tensor.dtype
        self.shape = tuple(tensor.shape)
        self.device = str(tensor.device)
        self.storage = storage_id(tensor)
        dense = readable(tensor)
        self.digest = None if dense is None else _core.digest(dense)
        self.stride = 1
        self.values: Tensor | None = None

    def keep(self, tensor: Tensor) -> int:
        """Takes the sample; returns its bytes."""
        dense = None if self.digest is None else readable(tensor)  # what has no memory must not be read by torch either
        if dense is None or dense.numel() == 0:
            return 0
        self.stride = -(-dense.numel() // SAMPLE)
        self.values = dense.detach().reshape(-1)[:: self.stride].clone()
        return self.values.numel() * self.values.element_size()


def largest(was: Value, now: Value) -> float | None:
    """Largest difference between two samples of one shape; `None` where there is none to tell."""
    if was.values is None or now.values is None or was.shape != now.shape:
        return None
    found = (was.values.double() - now.values.double()).abs().max().item()
    return found if math.isfinite(found) else None


def parted(was: Value, now: Value, random: bool) -> bool:
    """Whether two results differ by more than the order of additions explains."""
    if was.shape != now.shape or was.dtype != now.dtype:
        return True
    if was.digest == now.digest or was.digest is None or now.digest is None:
        return False
    if random:
        return True
    if not (was.dtype.is_floating_point or was.dtype.is_complex) or was.values is None or now.values is None:
        return False
    a, b = _wide(was.values), _wide(now.values)
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    by = torch.where(same, torch.zeros_like(a), (a - b)).abs()
    if not bool(torch.isfinite(by).all()):
        return True
    size = torch.where(torch.isfinite(a), a, torch.zeros_like(a)).norm().item()
    return bool(by.norm().item() > min(ROUNDING * torch.finfo(was.dtype).eps, LOOSEST) * size)


def _wide(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.complex128 if values.is_complex() else torch.float64)


def numbers(was: Value, now: Value) -> dict[str, Any]:
    """How far two samples of one shape differ."""
    if was.values is None or now.values is None:
        return {}
    a, b = _wide(was.values), _wide(now.values)
    other = (a != b) & ~(torch.isnan(a) & torch.isnan(b))
    out: dict[str, Any] = {"of": a.numel(), "differ": int(other.sum())}
    if out["differ"]:
        out["first_index"] = unravel(int(other.nonzero()[0]) * was.stride, was.shape)
    if was.dtype.is_floating_point:
        out["largest"] = number((a - b)[other].abs().max().item() if out["differ"] else 0.0)
        finite = a[torch.isfinite(a)].abs()
        out["scale"] = number(finite.max().item() if finite.numel() else math.nan)
    return out


def apart(was: Value, now: Value) -> float:
    """2-norm of the difference over that of what was, as far as samples show; infinite where they cannot be compared."""
    if was.shape != now.shape or was.values is None or now.values is None:
        return math.inf
    by = (_wide(was.values) - _wide(now.values)).norm().item() / max(_wide(was.values).norm().item(), 1e-300)
    return by if math.isfinite(by) else math.inf


def side(value: Value, autocast: str | None = None) -> dict[str, Any]:
    """One of two results, as the ledger holds it."""
    out: dict[str, Any] = {
        "dtype": str(value.dtype).removeprefix("torch."),
        "shape": list(value.shape),
        "device": value.device,
    }
    if autocast is not None:
        out["autocast"] = autocast
    return out
