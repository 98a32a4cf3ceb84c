"""One run of the program as a variant has it, beside the run that failed."""

from __future__ import annotations

import itertools
import math
import os
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nanscope import _core
from nanscope.fixes.fix import Safety
from nanscope.outcomes import Text, text

if TYPE_CHECKING:
    from nanscope.again.process import Again
    from nanscope.fixes.variant import Variant

STEPS_AFTER = 3  # a fix has to hold for so many steps after the one that failed
CLOSE = 0.01  # relative difference of two losses that a change of rounding explains
PACE_STEPS = 4  # fewer steps tell nothing of their time
PACE_NANOS = 2_000_000  # nor do shorter ones


@dataclass(frozen=True)
class Run:
    """The run that failed. `steps` are its steps, `reached` the last that a fixed program must get past, `healthy` the first that
    need not be as it was, `seconds` what the run took until its end."""

    steps: list[Any]
    reached: int
    healthy: int
    seconds: float
    base: str
    command: str


@dataclass(frozen=True)
class Trial:
    """What came out: the attempt as the run folder holds it, and the diagnosis of a trip that came instead."""

    attempt: dict[str, Any]
    report: dict[str, Any] | None
    ledger: str | None

    @property
    def proved(self) -> bool:
        """Whether the program got past the step, and stayed finite."""
        return bool(self.attempt["proof"]["proved"])


def tried(again: Again, run: Run, variant: Variant, timeout: float) -> Trial:
    """Runs the program as `variant` has it. Raises `Unreadable` when a file has gone since."""
    attempt = variant.plain(run.base)
    with again.ran("trial", timeout, sources=variant.put, until=run.reached + STEPS_AFTER) as ran:
        answer = ran.answer or {"trip": None, "how": "died", "raised": None, "steps": 0}
        steps = steps_of(answer["out"]) if "out" in answer else []
    past = answer["steps"] > run.reached or answer["how"] == "finished"
    finite = answer["trip"] is None and answer["how"] in ("finished", "stopped", "exited") and past
    healthy, compared = compare(losses(run.steps, run.healthy), losses(steps, run.healthy))
    if healthy != "identical" and variant.safety is Safety.SAFE:
        attempt["safety"] = Safety.CHANGES_TRAINING.value  # what was seen counts
    proof: dict[str, Any] = {
        "proved": finite, "steps": answer["steps"], "finite": finite, "healthy_losses": healthy, "compared": compared,
        "seconds": ran.seconds, "command": run.command,
    }  # fmt: skip
    before, now = pace(run.steps, run.healthy), pace(steps, run.healthy)
    if before is not None and now is not None:
        proof["time_ratio"] = now / before
    if not finite:
        attempt["note"] = why(answer, ran.status)
    return Trial({**attempt, "proof": proof}, answer.get("report"), answer.get("ledger"))


def why(answer: dict[str, Any], status: int | None) -> Text:
    """Why a fix has failed."""
    trip, raised, steps = answer["trip"], answer["raised"], answer["steps"]
    if status is None:
        return text("it took too long", "시간이 너무 오래 걸림")
    if trip is not None:
        seen = f"{trip['where']} {trip['kind']}"
        return text(f"step {trip['step']}: {seen}", f"스텝 {trip['step']}: {seen}")
    if raised is not None:
        return text(f"the program raised {raised}", f"프로그램에서 예외 발생: {raised}")
    return text(f"it ended after {steps} steps", f"{steps}개 스텝 뒤에 끝남")


def steps_of(folder: str) -> list[Any]:
    """The steps in a run folder: `(step, nanos, loss, grad_norm, skipped)`."""
    path = os.path.join(folder, "rank-0.log")
    return _core.steps(path) if os.path.exists(path) else []


def losses(steps: list[Any], before: int) -> dict[int, float]:
    """The loss of every step before `before`."""
    return {step: loss for step, _, loss, *_ in reversed(steps) if step < before and loss is not None}


def compare(run: dict[int, float], fixed: dict[int, float]) -> tuple[str, int]:
    """How near the losses of healthy steps are, and how many there were."""
    pairs = [(run[step], fixed[step]) for step in run if step in fixed]
    if all(a == b or (a != a and b != b) for a, b in pairs):
        return "identical", len(pairs)
    near = all(math.isclose(a, b, rel_tol=CLOSE) for a, b in pairs)
    return "close" if near else "changed", len(pairs)


def pace(steps: list[Any], before: int) -> float | None:
    """Median nanoseconds of a healthy step, the first left out; `None` where there is too little to tell."""
    times = [nanos for step, nanos, *_ in steps if step < before]
    took = [b - a for a, b in itertools.pairwise(times)]
    middle = statistics.median(took) if len(took) >= PACE_STEPS else 0.0
    return middle if middle >= PACE_NANOS else None
