"""One step beside itself: two replays from the same state, operator by operator, bit by bit."""

from __future__ import annotations

from typing import Any

from nanscope.replay.names import Names
from nanscope.replay.places import place as make_place
from nanscope.replay.sample import Value, numbers, parted, side
from nanscope.replay.witness import Call, Witness


class Twice:
    """`pairs` of calls that differ, first and second run, in order; of the calls after the first that one run alone has, none."""

    def __init__(self, first: Witness, second: Witness) -> None:
        self.first, self.second = first, second
        self.compared = 0
        self.pairs: list[tuple[Call, Call]] = []
        for was, now in zip(first.calls, second.calls, strict=False):
            if was.op != now.op or was.place != now.place:
                self.pairs.append((was, now))
                break
            self.compared += 1
            if _differs(was, now):
                self.pairs.append((was, now))

    @property
    def equal(self) -> bool:
        return not self.pairs and len(self.first.calls) == len(self.second.calls)

    @property
    def own(self) -> bool:
        """Whether the first that differs had the same inputs and arguments, and draws no random numbers."""
        was, now = self.pairs[0]
        return _same_call(was, now) and not now.random and all(map(_bits, was.inputs, now.inputs))

    @property
    def rounding(self) -> bool:
        """Whether the order of additions explains every difference: not where something was done that was not done before."""
        return all(
            _same_call(was, now)
            and not (now.random and all(map(_bits, was.inputs, now.inputs)))
            and all(
                map(_rounded, *zip(*[*zip(was.outputs, now.outputs, strict=False), *_states(was, now)], strict=True))
            )
            for was, now in self.pairs
        )

    @property
    def from_python(self) -> bool:
        """Whether the first difference is one of what the program does, not of what an operator makes of it."""
        was, now = self.pairs[0]
        return not _same_call(was, now) or now.random

    def plain(self, names: Names, base: str) -> dict[str, Any]:
        """As the ledger holds it."""
        was, now = self.pairs[0]
        out: dict[str, Any] = {
            "operators": self.compared, "differing": len(self.pairs), "rounding": self.rounding, "phase": now.phase,
        }  # fmt: skip
        first: dict[str, Any] = {"op": now.op, "random": now.random, "extra": was.op != now.op}
        for key, value in (("node", now.node), ("entry", now.entry)):
            if value is not None:
                first[key] = value
        if now.place is not None:
            first["place"] = make_place(*now.place, base)
        if now.module is not None:
            first["module"] = names.modules.get(id(now.module)) or type(now.module).__name__
        first["altered"] = [
            self._altered(a, b, names) for a, b in zip(was.inputs, now.inputs, strict=False) if not _bits(a, b)
        ]
        first["arguments"] = [
            (name, was.arguments.get(name, "-"), now.arguments.get(name, "-"))
            for name in sorted(was.arguments.keys() | now.arguments.keys())
            if was.arguments.get(name) != now.arguments.get(name)
        ]
        found = [
            (a, b) for a, b in [*zip(was.outputs, now.outputs, strict=False), *_states(was, now)] if not _bits(a, b)
        ]
        if found:
            a, b = found[0]
            first["was"], first["now"] = side(a, was.autocast), side(b, now.autocast)
            if a.shape == b.shape and a.dtype == b.dtype:
                first.update(numbers(a, b))
        out["first"] = first
        return out

    def _altered(self, was: Value, now: Value, names: Names) -> dict[str, Any]:
        """An input of the first operator that differs: nothing in the step has made it so."""
        witness = self.second
        one: dict[str, Any] = {"name": now.name}
        source = names.sources.get(now.storage)
        if source is not None:
            one["tensor"] = str(source["name"])
        elif now.storage in witness._data:
            one["tensor"] = witness._data[now.storage]
        if now.storage in witness._allocated and now.storage not in witness.writes:
            one["unwritten"] = True
        return one


def _bits(was: Value, now: Value) -> bool:
    return was.digest == now.digest and was.shape == now.shape and was.dtype == now.dtype


def _rounded(was: Value, now: Value) -> bool:
    """Equal, or apart by rounding as far as samples show; where there are none nobody knows."""
    return _bits(was, now) or (was.values is not None and now.values is not None and not parted(was, now, False))


def _states(was: Call, now: Call) -> list[tuple[Value, Value]]:
    """What the two calls have left in memory from before the step."""
    return [(a[2], b[2]) for a, b in zip(was.state, now.state, strict=False)]


def _same_call(was: Call, now: Call) -> bool:
    return (
        was.op == now.op and was.place == now.place and was.arguments == now.arguments and was.autocast == now.autocast
    )


def _differs(was: Call, now: Call) -> bool:
    results = [*zip(was.outputs, now.outputs, strict=False), *_states(was, now)]
    return len(was.outputs) != len(now.outputs) or not all(_bits(a, b) for a, b in results)
