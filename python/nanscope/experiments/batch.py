"""The samples that make the step fail: replays in which copies of a good sample stand in for others.

The batch keeps its size, so that shapes, batch statistics and numbers of the program (a sum divided by the batch size) hold.
Samples are the rows of whatever enters the model or the loss from outside with as many rows as the batch has. Which batches
are run is decided by `GuiltySearch` in Rust. A layer that couples samples may make a good sample fail beside a bad one: that
is said, and the replay without the guilty ones is what counts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.modules.batchnorm import _NormBase

from nanscope import _core
from nanscope.capture.event import Event
from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change
from nanscope.experiments.recast import Birth, Recast
from nanscope.experiments.scout import enters, rows
from nanscope.outcomes import Text, text
from nanscope.replay.reference import mapped

REPLAYS_MAX = 30
NAMED_MAX = 8  # samples that are named


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: `samples`, the size of the batch."""
    size = planned["arguments"]["samples"]
    known = bench.storages
    search = _core.GuiltySearch(size, REPLAYS_MAX)
    while (asked := search.next()) is not None and not bench.over(2):
        samples, stand_in = asked
        birth = Birth()
        trial = bench.run(Rows(size, samples, stand_in, known, birth))
        unusable = trial.error is not None and len(samples) != 1
        if unusable or (len(samples) == size and trial.finite):
            return []
        search.answer(samples, stand_in, trial.finite, guilty_rows(birth, size))
    found = search.found()
    if found is None:
        return []
    guilty, enough, alone, replays = found
    if not guilty:
        change = text(f"any one of the {size} samples alone", f"샘플 {size}개 중 아무거나 하나만")
        note = text("no sample in particular is to blame", "특정 샘플의 문제가 아님")
        return [{"id": "batch-any", "change": change, "finite": False, "steps": 1, "note": note}]
    stand_in = next((row for row in range(size) if row not in guilty), 0)
    good = Rows(size, [row for row in range(size) if row not in guilty], stand_in, known)
    outcome = bench.outcome(
        {**planned, "change": without(guilty, size)}, good, told(bench, len(guilty), alone, replays)
    )
    if outcome is None or not (enough or outcome["finite"]):
        return []
    outcome.pop("reference_error", None)  # another batch has another loss
    return [outcome]


def without(guilty: list[int], size: int) -> Text:
    """What is changed, for a person; samples count from 0."""
    named = ", ".join(map(str, guilty[:NAMED_MAX])) + (", ..." if len(guilty) > NAMED_MAX else "")
    if len(guilty) == 1:
        return text(f"without sample {named} of {size}", f"샘플 {size}개 중 {named}번 제외")
    return text(f"without samples {named} of {size}", f"샘플 {size}개 중 {named}번 제외")


def told(bench: Bench, guilty: int, alone: bool, replays: int) -> Text:
    """How that was found, and what it is worth."""
    en, ko = f"found in {replays} replays", f"재실행 {replays}회 만에 찾음"
    if alone:
        each = "it fails" if guilty == 1 else "each fails"
        en, ko = f"{each} by itself; {en}", f"{'혼자서도' if guilty == 1 else '각각 혼자서도'} 실패함; {ko}"
    norm = next(
        (m for root in bench.trip.roots for m in root.modules() if isinstance(m, _NormBase) and m.training), None
    )
    if norm is not None:
        name = type(norm).__name__
        en, ko = f"{en}; {name} couples the samples", f"{ko}; {name} 때문에 샘플들이 서로 영향을 줌"
    return text(en, ko)


def guilty_rows(birth: Birth, size: int) -> list[int]:
    """Samples whose rows are bad in the first bad result; none where its rows are not samples, or all are bad."""
    if birth.size < size or birth.size % size:
        return []
    each = birth.size // size  # heads, or positions, are often folded into the rows
    found = sorted({row // each for row in birth.rows})
    return found if len(found) < size else []


class Rows(Recast):
    """`samples` as they are, copies of `stand_in` for all others. `birth` sees the first bad result."""

    def __init__(
        self, size: int, samples: list[int], stand_in: int, known: set[int], birth: Birth | None = None
    ) -> None:
        super().__init__(torch.float32, None, birth=birth)
        kept = set(samples)
        self.size = size
        self.known = known
        self.index = torch.tensor([row if row in kept else stand_in for row in range(size)])
        self.changed = len(kept) < size

    def around(self, event: Event) -> Any:
        return super().around(event) if self.birth is not None else Change.around(self, event)

    def whole(self) -> Any:
        return super().whole() if self.birth is not None else Change.whole(self)

    def idle(self) -> Change:
        return Change()

    def arguments(self, event: Event, args: Any, kwargs: Any) -> tuple[Any, Any]:
        if not self.changed or not enters(event, args, kwargs):
            return args, kwargs
        samples = {id(t) for t in rows(args, kwargs, self.known) if t.shape[0] == self.size}

        def pick(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and id(value) in samples:
                with torch.no_grad():
                    return value.index_select(0, self.index.to(value.device))
            return value

        return mapped(args, pick), mapped(kwargs, pick)
