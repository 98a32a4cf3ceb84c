"""Forward beside recomputation: which operators belong together, and the first that gave something else."""

from __future__ import annotations

import bisect
from typing import Any

from nanscope.kept import Pair
from nanscope.replay.names import Names
from nanscope.replay.overwritten import writer
from nanscope.replay.places import place as make_place
from nanscope.replay.sample import Value, apart, numbers, parted, side
from nanscope.replay.values import number
from nanscope.replay.witness import Call, Witness

AHEAD = 64  # operators that one of the two executions may have and the other not, in one stretch
PREFIX = 200  # operators by which the beginning of a block is told from others


class Parity:
    """The comparison of one replay. `broken` is what came out of saved-tensor hooks other than it went in, `live` what differed
    in the step itself."""

    def __init__(self, witness: Witness, broken: list[Pair], live: list[Pair]) -> None:
        self.witness = witness
        self.broken = broken
        self.live = live
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
            if not self._is_repetition(segment, pairs):
                continue
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
        return not (self.differing or self.witness.settled or self.broken or self.live)

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

    def _is_repetition(self, segment: list[Call], pairs: list[tuple[Call, Call]]) -> bool:
        """Whether a stretch repeats forward at all. A backward may run the same code on purpose at another point (an adjoint
        method): then what it begins with is something new, which it or backward has made."""
        if segment[0].by_torch:
            return True
        begun = {call.index for call in segment}
        for forward, again in pairs:
            for was, now in zip(forward.inputs, again.inputs, strict=False):
                if was.digest == now.digest or was.storage == now.storage:
                    continue
                if was.dtype != now.dtype or was.shape != now.shape:
                    continue
                maker = self._maker(now, again.index)
                if (maker is None or maker.index not in begun) and now.storage in self.witness._own:
                    return False
        return True

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
        best, start = (0, 0, 0), made
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
                same = _same_inputs(
                    self.calls[i], first
                )  # of equal iterations of a loop, the one that began with the same
                if (run, same, near) > best:
                    best, start = (run, same, near), i
            if best[0]:
                break
        return start

    # ---- what differs

    def _parted(self, again: Call) -> tuple[Value, Value] | None:
        """The first result that differs by more than rounding, in forward and now."""
        forward = self.originals[again.index]
        drawn = again.random and _same_inputs(forward, again) == len(forward.inputs)
        for was, now in zip(forward.outputs, again.outputs, strict=False):
            if parted(was, now, drawn):
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
            out["first"] = self._first(self._root(self.differing[0]), names, base)
        elif self.broken:
            out["first"] = self._kept(self.broken[0], names, base)
            self._overwritten(self.broken[0], out["first"], base)
            out["differing"] = len(self.broken)
        elif self.witness.settled:
            call = self.witness.settled[0][0]
            out["first"] = self._about(call, names, base)
            out["first"].update(was=side(call.outputs[0], call.autocast), now=side(call.outputs[0], call.autocast))
            out["twice"] = []
            for _, tensor, by in self.witness.settled:
                one: dict[str, Any] = {"name": names.of(tensor) or "a tensor without a name"}
                if by is not None:
                    one["largest"] = number(by)
                out["twice"].append(one)
        else:
            out["first"] = self._kept(self.live[0], names, base)
            out["first"]["unsteady"] = True
            out["differing"] = len(self.live)
        return out

    def _kept(self, pair: Pair, names: Names, base: str) -> dict[str, Any]:
        """What was kept and came out other, by the operator that had made it."""
        made = next(
            (c for c in self.calls if not c.again and any(v.digest == pair.was.digest for v in c.outputs)), None
        )
        out: dict[str, Any] = {"op": ""} if made is None else self._about(made, names, base)
        if pair.place is not None:
            out.setdefault("place", make_place(*pair.place, base))
        if pair.node is not None:
            out["node"] = pair.node
        out["was"], out["now"] = side(pair.was, None if made is None else made.autocast), side(pair.now)
        if pair.was.shape == pair.now.shape and pair.was.dtype == pair.now.dtype:
            out.update(numbers(pair.was, pair.now))
        return out

    def _overwritten(self, pair: Pair, out: dict[str, Any], base: str) -> None:
        """By whom, where that can be seen."""
        out["unpacked"] = True
        write = writer(self.witness, pair)
        if write is None:
            return
        one: dict[str, Any] = {"name": "saved tensor", "writer": write.op, "own": False}
        if write.place is not None:
            one["place"] = make_place(*write.place, base)
        out["altered"] = [one]

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

    def _root(self, again: Call) -> Call:
        """Where a difference came from: what differs only as rounding would may have grown on the way. It ends at a call that
        differs by itself, or whose inputs are the same to the bit."""
        while not self._by_itself(again):
            makers = [maker for value in again.inputs if (maker := self._maker(value, again.index)) is not None]
            found = [m for m in makers if m.again and m.segment == again.segment and self._bits(m)]
            if not found:
                break
            again = max(found, key=self._apart)
        return again

    def _by_itself(self, again: Call) -> bool:
        forward = self.originals[again.index]
        if again.random or forward.arguments != again.arguments or forward.autocast != again.autocast:
            return True
        return any(
            was.digest != now.digest and ((maker := self._maker(now, again.index)) is None or not maker.again)
            for was, now in zip(forward.inputs, again.inputs, strict=False)
        )

    def _bits(self, again: Call) -> bool:
        """Whether a result differs at all."""
        forward = self.originals.get(again.index)
        return forward is not None and any(
            was.digest != now.digest for was, now in zip(forward.outputs, again.outputs, strict=False)
        )

    def _apart(self, again: Call) -> float:
        forward = self.originals[again.index]
        return max((apart(was, now) for was, now in zip(forward.outputs, again.outputs, strict=False)), default=0.0)

    def _first(self, again: Call, names: Names, base: str) -> dict[str, Any]:
        forward = self.originals[again.index]
        pairs = list(zip(forward.outputs, again.outputs, strict=False))
        was, now = self._parted(again) or next((w, n) for w, n in pairs if w.digest != n.digest)
        extra = self._extra(again) or (self._before(again) if was.shape != now.shape else None)
        out = self._about(extra or again, names, base)
        out["altered"] = self._altered(forward, again, names, base)
        if extra is not None:
            out["extra"] = True
            out["altered"] = []
        out["was"], out["now"] = side(was, forward.autocast), side(now, again.autocast)
        if extra is None and was.shape == now.shape and was.dtype == now.dtype:
            out.update(numbers(was, now))
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
            writes = [w for w in witness.writes.get(now.storage, ()) if forward.index <= w.calls <= again.index]
            if writes:
                position, _, op, place = writes[-1]
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


def _same_inputs(forward: Call, again: Call) -> int:
    """How many inputs of two calls are equal to the bit."""
    return sum(was.digest == now.digest for was, now in zip(forward.inputs, again.inputs, strict=False))
