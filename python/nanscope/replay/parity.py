"""Forward beside recomputation: which operators belong together, and the first that gave something else."""

from __future__ import annotations

import bisect
import math
from typing import Any

import torch

from nanscope.replay.names import Names
from nanscope.replay.places import place as make_place
from nanscope.replay.values import number, unravel
from nanscope.replay.witness import Call, Value, Witness

AHEAD = 64  # operators that one of the two executions may have and the other not, in one stretch
PREFIX = 200  # operators by which the beginning of a block is told from others
ROUNDING = 1000.0  # differences of up to so many units in the last place may come from the order of additions
LOOSEST = 0.05


class Parity:
    """The comparison of one replay."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness
        self.calls = witness.calls
        self.originals: dict[int, Call] = {}  # index of a recomputed call -> its forward call
        self.spans: dict[int, tuple[int, int]] = {}  # segment -> first and last forward call that it repeats
        self._named: dict[str, list[int]] = {}  # operator -> its calls
        self._makers: dict[int, list[int]] = {}  # storage -> the calls that gave something in it
        segments: dict[int, list[Call]] = {}
        for call in self.calls:
            self._named.setdefault(call.op, []).append(call.index)
            for storage in {value.storage for value in call.outputs}:
                self._makers.setdefault(storage, []).append(call.index)
            if call.again:
                segments.setdefault(call.segment, []).append(call)
        self.blocks = len(segments)
        for number_, segment in segments.items():
            pairs = self._pairs(segment)
            self.originals.update((again.index, forward) for forward, again in pairs)
            if pairs:
                self.spans[number_] = (pairs[0][0].index, pairs[-1][0].index)
        self.differing = [
            call
            for call in self.calls
            if call.again and call.index in self.originals and self._parted(call) is not None
        ]

    @property
    def equal(self) -> bool:
        return not self.differing and not self.witness.settled

    # ---- which belong together

    def _pairs(self, segment: list[Call]) -> list[tuple[Call, Call]]:
        """`(forward, recomputed)`; what only one of the two has is left out."""
        start = self._start(segment)
        pairs: list[tuple[Call, Call]] = []
        i, j = start, 0
        end = segment[0].index
        while i < end and j < len(segment):
            if segment[j].repeats(self.calls[i]):
                pairs.append((self.calls[i], segment[j]))
                i, j = i + 1, j + 1
                continue
            step = self._next(segment, i, j, end)
            if step is None:
                break
            i, j = i + step[0], j + step[1]
        return pairs

    def _next(self, segment: list[Call], i: int, j: int, end: int) -> tuple[int, int] | None:
        """The smallest steps on either side after which both executions agree again, for two operators if there are two."""
        for total in range(1, AHEAD):
            for down in range(total + 1):
                a, b = i + total - down, j + down
                if a < end and b < len(segment) and segment[b].repeats(self.calls[a]):
                    last = a + 1 >= end or b + 1 >= len(segment)
                    if last or segment[b + 1].repeats(self.calls[a + 1]):
                        return total - down, down
        return None

    def _start(self, segment: list[Call]) -> int:
        """The forward call with which the block begins: the one after which most operators are the same; of several the
        last before the node that had the block run again was made, or shortly after."""
        end = segment[0].index
        made = min(self.witness.started.get(segment[0].anchor or -1, end), end - 1)
        best, start = (0, 0), made
        for skipped, first in enumerate(segment[:4]):
            for i in self._named[first.op]:
                if i >= end:
                    break
                if not first.repeats(self.calls[i]):
                    continue
                run = 0
                for again, forward in zip(segment[skipped : skipped + PREFIX], self.calls[i:end], strict=False):
                    if not again.repeats(forward):
                        break
                    run += 1
                near = -abs(made - i) if i <= made else -(end + i)
                if (run, near) > best:
                    best, start = (run, near), i
            if best[0]:
                break
        return start

    # ---- what differs

    def _parted(self, again: Call) -> tuple[Value, Value] | None:
        """The first result that differs by more than rounding, in forward and now."""
        forward = self.originals[again.index]
        for was, now in zip(forward.outputs, again.outputs, strict=False):
            if parted(was, now, again.random):
                return was, now
        return None

    def plain(self, names: Names, base: str) -> dict[str, Any]:
        """As the ledger holds it."""
        out: dict[str, Any] = {
            "blocks": self.blocks,
            "pairs": len(self.originals),
            "differing": len(self.differing),
        }
        if self.differing:
            out["first"] = self._first(self.differing[0], names, base)
        elif self.witness.settled:
            call = self.witness.settled[0][0]
            out["first"] = self._about(call, names, base)
            out["first"].update(was=_side(call, call.outputs[0]), now=_side(call, call.outputs[0]))
            out["twice"] = []
            for _, tensor, by in self.witness.settled:
                one: dict[str, Any] = {"name": names.of(tensor) or "a tensor without a name"}
                if by is not None:
                    one["largest"] = number(by)
                out["twice"].append(one)
        return out

    def _about(self, again: Call, names: Names, base: str) -> dict[str, Any]:
        forward = self.originals.get(again.index)
        out: dict[str, Any] = {"op": again.op, "random": again.random}
        place = again.place or (forward.place if forward is not None else None)
        block = again.outer or (forward.outer if forward is not None else None) or self._block(again)
        module = again.module or (forward.module if forward is not None else None)
        for key, value in (("place", place), ("block", block)):
            if value is not None:
                out[key] = make_place(*value, base)
        if module is not None:
            out["module"] = names.modules.get(id(module)) or type(module).__name__
        if again.entry is not None:
            out["entry"] = again.entry
        if forward is not None and forward.entry is not None:
            out["original"] = forward.entry
        return out

    def _block(self, again: Call) -> Any:
        span = self.spans.get(again.segment)
        return None if span is None else self.calls[span[0]].outer

    def _first(self, again: Call, names: Names, base: str) -> dict[str, Any]:
        forward = self.originals[again.index]
        found = self._parted(again)
        assert found is not None
        was, now = found
        extra = self._extra(again) or (self._before(again) if was.shape != now.shape else None)
        out = self._about(extra or again, names, base)
        out["altered"] = self._altered(forward, again, names, base)
        if extra is not None:
            out["extra"] = True
            out["altered"] = []
        out["was"], out["now"] = _side(forward, was), _side(again, now)
        if extra is None and was.shape == now.shape and was.dtype == now.dtype:
            out.update(_numbers(was, now))
        told = sorted(forward.arguments.keys() | again.arguments.keys())
        out["arguments"] = [
            (n, forward.arguments.get(n, "-"), again.arguments.get(n, "-"))
            for n in told
            if forward.arguments.get(n) != again.arguments.get(n) and n not in ("train", "cudnn_enabled")
        ]
        return out

    def _maker(self, value: Value, before: int) -> Call | None:
        """The last call before `before` that gave something in the memory of `value`."""
        makers = self._makers.get(value.storage, [])
        at = bisect.bisect_left(makers, before)
        return self.calls[makers[at - 1]] if at else None

    def _extra(self, again: Call) -> Call | None:
        """The first operator without a forward one that the inputs of `again` come from."""
        found: Call | None = None
        todo, known = [again], {again.index}
        while todo:
            call = todo.pop()
            for value in call.inputs:
                maker = self._maker(value, call.index)
                if (
                    maker is not None
                    and maker.again
                    and maker.index not in self.originals
                    and maker.segment == again.segment
                ):
                    if found is None or maker.index < found.index:
                        found = maker
                    if maker.index not in known:
                        known.add(maker.index)
                        todo.append(maker)
        return found

    def _before(self, again: Call) -> Call | None:
        """The first operator of the recomputation without a forward one: sizes that it led to reach `again` as numbers."""
        between = (c for c in self.calls[: again.index] if c.again and c.segment == again.segment and c.outputs)
        return next((c for c in between if c.index not in self.originals), None)

    def _altered(self, forward: Call, again: Call, names: Names, base: str) -> list[dict[str, Any]]:
        """Inputs that differ although the recomputation has not made them."""
        out: list[dict[str, Any]] = []
        witness = self.witness
        for was, now in zip(forward.inputs, again.inputs, strict=False):
            if was.digest == now.digest and was.shape == now.shape and was.dtype == now.dtype:
                continue
            maker = self._maker(now, again.index)
            if maker is not None and maker.again and maker.segment == again.segment:
                continue  # compared, and found equal but for rounding
            one: dict[str, Any] = {"name": now.name}
            source = names.sources.get(now.storage)
            if source is not None:
                one["tensor"] = str(source["name"])
            elif now.storage in witness._data:
                one["tensor"] = witness._data[now.storage]
            writes = [w for w in witness.writes.get(now.storage, ()) if forward.index <= w[0] <= again.index]
            if writes:
                position, op, place = writes[-1]
                first, last = self.spans[again.segment]
                one["writer"] = op
                one["own"] = first <= position <= last or (
                    position < len(self.calls) and self.calls[position].segment == again.segment
                )
                if place is not None:
                    one["place"] = make_place(*place, base)
            elif now.storage in witness._allocated and maker is None and now.storage not in witness.writes:
                one["unwritten"] = True
            out.append(one)
        return out


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


def _side(call: Call, value: Value) -> dict[str, Any]:
    out: dict[str, Any] = {
        "dtype": str(value.dtype).removeprefix("torch."),
        "shape": list(value.shape),
        "device": value.device,
    }
    if call.autocast is not None:
        out["autocast"] = call.autocast
    return out


def _numbers(was: Value, now: Value) -> dict[str, Any]:
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
