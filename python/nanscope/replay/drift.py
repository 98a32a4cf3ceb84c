"""How far what an operator wrote is from its float64 shadow, told in the ledger where it says something new."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from nanscope import _core
from nanscope.capture.recorder import storage_id
from nanscope.device import measure
from nanscope.replay import births, values

Tensor = torch.Tensor
SAMPLES_MAX = 500  # entries of which one element and its operands are noted
TOLD = 2.0  # an error that has grown less than this since it was last told is not told again
HEALED = 4.0  # one that has shrunk by this is
# Errors below so many steps of the format are rounding. A 16-bit format has few digits: they show early.
ROUNDING, ROUNDING_NARROW = 64.0, 16.0
# Operators whose limit is 1: elsewhere a result that is exactly 1 is a matter of rounding.
_BOUNDED = {"sigmoid", "tanh", "_softmax", "erf", "exp", "div", "cos"}


class Found(NamedTuple):
    """What `_core.drift` finds; `nanscope_numeric::Drift` says what each number means."""

    relative: float
    largest: float
    lost_zeros: int
    saturated: int
    flipped: int
    rescued: int
    reference_bad: int
    same: bool
    at: int | None
    saturated_at: int | None


class Told(NamedTuple):
    """What the ledger has said last of a storage or of those that it was computed from."""

    relative: float
    lost_zeros: int
    saturated: int


NOTHING = Told(0.0, 0, 0)


def compare(tensor: Tensor, shadow: Tensor) -> Found | None:
    """One pass over both, where they lie; `None` for what cannot be read."""
    if values.is_elsewhere(tensor) and values.is_elsewhere(shadow):
        there = measure.drift(values.local(tensor), values.local(shadow))
        return None if there is None else Found(*there)
    mine, wide = values.readable(tensor), values.readable(shadow)
    found = None if mine is None or wide is None else _core.drift(mine, wide.contiguous())
    return None if found is None else Found(*found)


class Drifts:
    """What was told so far, by storage: an error that is inherited is not told at every operator that inherits it."""

    def __init__(self) -> None:
        self._told: dict[int, Told] = {}
        self._samples = 0

    def of(self, keys: Iterable[int]) -> Told:
        """What was told of these storages, the worst of each."""
        told = [self._told[k] for k in keys if k in self._told]
        if not told:
            return NOTHING
        return Told(max(t.relative for t in told), max(t.lost_zeros for t in told), max(t.saturated for t in told))

    def forget(self, key: int) -> None:
        """What lies in this storage now is another thing."""
        self._told.pop(key, None)

    def tell(
        self,
        entry: dict[str, Any],
        base: str,
        found: Found,
        told: Told,
        tensor: Tensor,
        shadow: Tensor,
        read: list[tuple[str, Tensor]],
        wide: list[Tensor],
    ) -> None:
        """Adds `drift` to `entry` if its output `tensor` is news.

        `told` is what was told of its inputs `read`, whose shadows are `wide` (empty for an operator that works in place).
        """
        saturated = found.saturated if base.rstrip("_") in _BOUNDED else 0
        eps = torch.finfo(tensor.dtype).eps
        floor = eps * (ROUNDING_NARROW if eps > 1e-4 else ROUNDING)
        grown = found.relative > TOLD * told.relative or HEALED * found.relative < told.relative
        fed_bad = any(births.bad(arg) for arg in entry["inputs"])
        swallowed = _swallowed(tensor, entry["inputs"], read, wide) if fed_bad else 0
        key = storage_id(tensor)
        if not (
            (found.relative > floor and grown)
            or found.lost_zeros > told.lost_zeros
            or saturated > told.saturated
            or swallowed
            or (found.rescued and not fed_bad)
        ):
            # Where too little is left to tell, digits are whole again.
            relative = told.relative if found.relative > floor else 0.0
            self._told[key] = Told(relative, max(told[1], found.lost_zeros), max(told[2], saturated))
            return
        counts = {
            "lost_zeros": found.lost_zeros,
            "saturated": saturated,
            "flipped": found.flipped,
            "rescued": found.rescued,
            "swallowed": swallowed,
        }
        drift: dict[str, Any] = {"relative": found.relative, "largest": found.largest}
        drift.update((name, count) for name, count in counts.items() if count)
        at = found.saturated_at if saturated and not found.lost_zeros else found.at
        if at is not None and not fed_bad and self._samples < SAMPLES_MAX:
            self._samples += 1
            _sample(drift, values.unravel(at, tensor.shape), tensor, shadow, read, wide)
        if entry.get("drift", drift)["relative"] <= found.relative:
            entry["drift"] = drift
        self._told[key] = Told(found.relative, found.lost_zeros, saturated)


def _swallowed(tensor: Tensor, inputs: list[dict[str, Any]], read: list[tuple[str, Tensor]], wide: list[Tensor]) -> int:
    """Elements that are finite although an input is infinite there, which in float64 is finite."""
    count = 0
    for given, (_, real), shadow in zip(inputs, read, wide, strict=False):
        counts = given.get("counts", {})
        infinite = counts.get("posinf") or counts.get("neginf")
        if infinite and real.shape == tensor.shape and shadow is not real:
            count += int((torch.isinf(real) & torch.isfinite(shadow) & torch.isfinite(tensor)).sum())
    return count


def _sample(
    drift: dict[str, Any],
    index: list[int],
    tensor: Tensor,
    shadow: Tensor,
    read: list[tuple[str, Tensor]],
    wide: list[Tensor],
) -> None:
    """One element that shows the loss, and what it was computed from."""

    def both(real: Tensor, other: Tensor) -> dict[str, Any] | None:
        mine, theirs = values.at(real, index, tensor.shape), values.at(other, index, tensor.shape)
        if mine is None or theirs is None:
            return None
        return {"value": values.number(mine[1]), "reference": values.number(theirs[1])}

    result = both(tensor, shadow)
    if result is None:
        return
    drift.update(index=index, **result)
    operands = []
    for (name, real), other in zip(read, wide, strict=False):
        pair = both(real, other) if real.is_floating_point() else None
        if pair is not None:
            operands.append({"name": name, **pair})
    if operands:
        drift["operands"] = operands
