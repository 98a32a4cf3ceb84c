"""What the tracer asks of every tensor of a replay, answered where the tensor lies: by torch's own operators, a number of values
at a time, and one short transfer for each answer. The definitions are those of Rust (`nanscope_numeric::counts`, `drift`)."""

from __future__ import annotations

import math
from typing import Any

import torch

Tensor = torch.Tensor
CHUNK = 1 << 21  # numbers compared at a time: what that takes besides is some 250 MB
NOWHERE = float(1 << 53)  # an index behind every other; up to here float64 holds each integer


def numbers(tensor: Tensor) -> Tensor:
    """A tensor as real numbers, those of a complex one side by side."""
    tensor = tensor.detach()
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor.resolve_neg()


def counts(tensor: Tensor) -> tuple[int, int, int, float | None]:
    """`(nan, +inf, -inf, largest finite magnitude)` of a strided floating or complex tensor; `None` without a finite number.

    Raises what torch raises for a type that it cannot compute with there (8-bit floats).
    """
    values = numbers(tensor)
    if not values.numel():
        return 0, 0, 0, None
    peak = torch.linalg.vector_norm(values, math.inf).item()
    if math.isfinite(peak):
        return 0, 0, 0, peak
    finite = torch.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    found = (values.isnan().sum(), (values == math.inf).sum(), (values == -math.inf).sum())
    largest = torch.linalg.vector_norm(finite, math.inf)
    nan, posinf, neginf, peak = torch.stack([x.to(torch.float64) for x in (*found, largest)]).tolist()
    bad = int(nan) + int(posinf) + int(neginf)
    return int(nan), int(posinf), int(neginf), peak if bad < values.numel() else None


def drift(run: Tensor, reference: Tensor) -> tuple[Any, ...] | None:
    """How far `run` is from `reference`, the same tensor in float64 (complex128): the tuple of `_core.drift`. `None` where the two
    do not fit each other."""
    if reference.dtype is not (torch.complex128 if run.is_complex() else torch.float64) or run.shape != reference.shape:
        return None
    x, y = numbers(run).reshape(-1), numbers(reference).reshape(-1)
    if not x.numel():
        return 0.0, 0.0, 0, 0, 0, 0, 0, True, None, None
    rows = [
        _compared(x[start : start + CHUNK], y[start : start + CHUNK], start) for start in range(0, x.numel(), CHUNK)
    ]
    table = torch.stack(rows).tolist()
    columns = list(zip(*table, strict=True))
    squares, differences, lost, saturated, flipped, rescued, reference_bad, different = map(sum, columns[:8])
    largest = max(columns[8])
    first_lost, first_saturated, first_flipped = (min(column) for column in columns[9:12])
    widest = max(columns[12])
    first_widest = min(at for at, value in zip(columns[13], columns[12], strict=True) if value == widest)
    relative = math.sqrt(differences / squares) if squares else math.nan
    parts = 2 if run.is_complex() else 1

    def at(index: float) -> int | None:
        return int(index) // parts if index < NOWHERE else None

    shows = next((i for i in (first_flipped, first_lost) if i < NOWHERE), first_widest if widest > 0 else NOWHERE)
    return (
        relative if math.isfinite(relative) else largest,
        largest, int(lost), int(saturated), int(flipped), int(rescued), int(reference_bad), not different, at(shows),
        at(first_saturated),
    )  # fmt: skip


def _compared(run: Tensor, y: Tensor, start: int) -> Tensor:
    """One row of numbers over a part that begins at index `start`."""
    x = run.to(torch.float64)
    place = torch.arange(start, start + x.numel(), dtype=torch.float64, device=x.device)
    finite = torch.isfinite(x) & torch.isfinite(y)
    zero = torch.zeros((), dtype=torch.float64, device=x.device)
    difference = torch.where(finite, (x - y).abs(), zero)
    scale = torch.where(finite, torch.maximum(x.abs(), y.abs()), zero)
    differs = difference > 0
    lost = differs & (x == 0)
    saturated = differs & (x.abs() == 1)
    flipped = differs & ~saturated & (x * y < 0)
    unlike = ~finite & (x != y) & ~(x.isnan() & y.isnan())
    widest = difference.max()

    def first(where: Tensor) -> Tensor:
        return torch.where(where, place, NOWHERE).min()

    return torch.stack([
        (scale * scale).sum(), (difference * difference).sum(), lost.sum(), saturated.sum(), flipped.sum(),
        (~finite & torch.isfinite(y)).sum(), (~torch.isfinite(y)).sum(), (differs | unlike).sum(),
        torch.where(differs, difference / scale, zero).max(), first(lost), first(saturated), first(flipped), widest,
        first(difference == widest),
    ])  # fmt: skip
