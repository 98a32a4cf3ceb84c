"""One run of the program as a variant has it, beside the run that failed."""

from __future__ import annotations

import glob
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
ABSURD = 1e6  # a loss so many times larger than the largest healthy one is no success, though finite
PACE_STEPS = 4  # fewer steps tell nothing of their time


@dataclass(frozen=True)
class Run:
    """The run that failed. `steps` are its steps, `reached` the last that a fixed program must get past, `healthy` the first that
    need not be as it was, `seconds` what the run took to get there."""

    steps: list[Any]
    reached: int
    healthy: int
    seconds: float
    base: str
    command: str
    outside: bool = False  # whether the value that failed belongs to no step
    kernels: bool = False  # whether what failed was a kernel: then each step has it compared again
    alarms: bool = False  # whether what failed was an alarm: then none may be raised
    apart: bool = False  # whether ranks came apart: then each step has them compared again
    rank: int = 0  # that of `steps`
    world: int = 1  # processes that must all get past the step
    group: str | None = None  # of those processes among all that the program has started: see `Children`


@dataclass(frozen=True)
class Result:
    """What came out. `trip`, `report` and `ledger` are there where it failed as the first run did; `losses` by step; `pace` is the
    median processor time of a healthy step in nanoseconds, `None` where there is too little to tell."""

    steps: int
    how: str
    status: int | None
    raised: str | None
    trip: dict[str, Any] | None
    report: dict[str, Any] | None
    ledger: str | None
    losses: dict[int, float]
    pace: float | None
    seconds: float


def run_of(folder: str, trip: dict[str, Any], base: str, command: str = "") -> Run:
    """The run in `folder`; `trip` is that of its report."""
    rank = trip.get("rank", 0)
    log = _core.rank(folder, rank)[0] or os.path.join(folder, "rank-0.log")
    beside = os.path.dirname(log)
    steps = steps_of(log)
    apart = trip["where"] == "rank"
    # That ranks have come apart may be seen some steps after they have.
    seen = steps[-1][0] if apart and steps else 0
    return Run(
        steps=steps,
        reached=max(trip["step"], trip.get("seen") or 0, seen),
        healthy=trip["step"],  # of an alarm, where it began
        seconds=steps[-1][1] / 1e9 if steps else 0.0,
        base=base,
        command=command,
        outside=trip["where"] == "output",
        kernels=trip["where"] == "kernel",
        alarms="alarm" in trip,
        apart=apart,
        rank=rank,
        world=len(glob.glob(os.path.join(glob.escape(beside), "rank-*.log"))),
        group=None if os.path.realpath(beside) == os.path.realpath(folder) else os.path.basename(beside),
    )


def run_again(again: Again, run: Run, sources: dict[str, str], timeout: float) -> Result:
    """Runs the program with the texts `sources` instead of files, until it is past the failing step."""
    wanted = {
        "until": run.reached + STEPS_AFTER, "alarms": run.alarms, "kernels": run.kernels, "apart": run.apart,
        "rank": run.rank, "world": run.world, "group": run.group,
    }  # fmt: skip
    with again.ran("trial", timeout, sources=sources, **wanted) as ran:
        answer = ran.answer or {}
        losses = losses_of(steps_of(answer["log"])) if answer.get("log") else {}
    clock = answer.get("clock", [])[: run.healthy + 1]
    took = [b - a for a, b in itertools.pairwise(clock)][1:]  # the first step is warming up
    return Result(
        steps=answer.get("steps", 0),
        how=answer.get("how", "died"),
        status=ran.status,
        raised=answer.get("raised"),
        trip=answer.get("trip"),
        report=answer.get("report"),
        ledger=answer.get("ledger"),
        losses=losses,
        pace=statistics.median(took) if len(took) >= PACE_STEPS else None,
        seconds=ran.seconds,
    )


def judged(run: Run, variant: Variant, trial: Result, control: Result | None) -> dict[str, Any]:
    """The attempt as the run folder holds it. `control` is the program as it is, run under the same conditions."""
    attempt = variant.plain()
    healthy, compared = compare(losses_of(run.steps, run.healthy), trial.losses)
    if healthy != "identical" and variant.safety is Safety.SAFE:
        if control is not None and compare(losses_of(run.steps, run.healthy), control.losses)[0] != "identical":
            attempt["note"] = text(
                "two runs of the program as it is differ from each other, too",
                "프로그램을 그대로 두 번 실행해도 결과가 다릅니다",
            )
        attempt["safety"] = Safety.CHANGES_TRAINING.value  # what was seen counts
    proved = succeeded(run, trial)
    finite = trial.trip is None and all(map(math.isfinite, trial.losses.values()))
    proof: dict[str, Any] = {
        "proved": proved, "steps": trial.steps, "finite": finite, "healthy_losses": healthy,
        "compared": compared, "seconds": trial.seconds, "command": run.command,
    }  # fmt: skip
    if trial.pace is not None and control is not None and control.pace:
        proof["time_ratio"] = trial.pace / control.pace
    if not proved:
        attempt["note"] = why(run, trial)
    return {**attempt, "proof": proof}


def succeeded(run: Run, trial: Result) -> bool:
    """Whether the program got past the step that failed, through every step before it, finite and sane."""
    # A value that tripped outside any step (an evaluation after the last one) is followed by no step.
    past = trial.steps > run.reached or (run.outside and trial.how == "finished" and trial.steps == run.reached)
    whole = set(losses_of(run.steps, run.healthy)) <= set(trial.losses)
    ended = trial.how in ("finished", "stopped", "exited")
    return trial.trip is None and ended and past and whole and not absurd(run, trial)


def absurd(run: Run, trial: Result) -> bool:
    """Whether a loss is finite and yet nothing that anybody could want."""
    before = [abs(loss) for loss in losses_of(run.steps, run.healthy).values() if math.isfinite(loss)]
    return any(abs(loss) > ABSURD * max([1.0, *before]) for loss in trial.losses.values())


def why(run: Run, trial: Result) -> Text:
    """Why a fix has failed."""
    if trial.status is None:
        return text("it took too long", "시간이 너무 오래 걸림")
    if trial.trip is not None:
        at, seen = trial.trip["step"], f"{trial.trip['where']} {trial.trip['kind']}"
        return text(f"step {at}: {seen}", f"스텝 {at}: {seen}")
    if trial.raised is not None:
        return text(f"the program raised {trial.raised}", f"프로그램에서 예외 발생: {trial.raised}")
    if absurd(run, trial):
        loss = max(abs(loss) for loss in trial.losses.values())
        return text(f"finite, but with a loss of {loss:.3g}", f"유한하지만 손실이 {loss:.3g}")
    return text(f"it ended after {trial.steps} steps", f"{trial.steps}개 스텝 뒤에 끝남")


def steps_of(log: str) -> list[Any]:
    """The steps in a log: `(step, nanos, loss, grad_norm, skipped)`."""
    return _core.steps(log) if os.path.exists(log) else []


def losses_of(steps: list[Any], before: float = math.inf) -> dict[int, float]:
    """The loss of every step before `before`."""
    return {step: loss for step, _, loss, *_ in reversed(steps) if step < before and loss is not None}


def compare(run: dict[int, float], fixed: dict[int, float]) -> tuple[str, int]:
    """How near the losses of healthy steps are, and how many there were."""
    pairs = [(run[step], fixed[step]) for step in run if step in fixed]
    if len(pairs) < len(run):
        return "changed", len(pairs)
    if all(a == b or (a != a and b != b) for a, b in pairs):
        return "identical", len(pairs)
    near = all(math.isclose(a, b, rel_tol=CLOSE) for a, b in pairs)
    return "close" if near else "changed", len(pairs)
