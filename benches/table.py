"""One training step under every mode, interleaved: medians of steps, and their ratios to the plain steps of the same round."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

from benches.models import MODELS, Training, build
from benches.peers import MODES, Mode
from benches.processes import forked, on_ranks

STEPS_MIN, STEPS_MAX = 3, 200  # of a block
SETTLE_SECONDS = 3.0  # before a block of the watch, at most
SLOW_SECONDS, SLOW_EVERY = 1.0, 3  # a peer whose block takes longer: one step, every third round


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds, seconds a block, seconds after which no round begins, and whether the models are the
    small ones."""

    rounds: int = 9
    seconds: float = 0.6
    limit: float = 100.0
    small: bool = False


QUICK = Effort(rounds=1, seconds=0.02, small=True)


def timed(step: Callable[[], Any], steps: int) -> float:
    """Median seconds of one step."""
    found = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def together(training: Training, value: Any) -> Any:
    """The same on all ranks: what the first of them has."""
    if training.part is None:
        return value
    found = [value]
    dist.broadcast_object_list(found)
    return found[0]


def probed(training: Training, mode: Mode) -> float | str:
    """Seconds of a step, roughly; or why there is none."""
    reason = mode.missing(training)
    if reason is not None:
        return reason
    try:
        with mode.around(training) as step:
            step()
            return together(training, timed(step, 2))
    except Exception as error:  # noqa: BLE001 - a peer that fails is a result
        return failure(error)


def failure(error: Exception) -> str:
    text = str(error).strip().splitlines() or [""]
    return f"does not run: {type(error).__name__}: {text[0][:120]}"


def slow(mode: Mode, about: float) -> bool:
    return about * STEPS_MIN > SLOW_SECONDS and mode is not MODES["plain"] and mode is not MODES["nanscope"]


def block(training: Training, mode: Mode, about: float, effort: Effort) -> float:
    """Median seconds of the steps of one block."""
    least = 1 if slow(mode, about) else STEPS_MIN
    steps = min(max(int(effort.seconds / about), least), STEPS_MAX)
    settle_seconds = SETTLE_SECONDS if effort.rounds > 1 else effort.seconds
    with mode.around(training) as step:
        for _ in range(min(mode.settles, max(int(settle_seconds / about), STEPS_MIN))):
            step()
        if training.part is not None:
            dist.barrier()
        return timed(step, steps)


def measure(training: Training, names: list[str], effort: Effort) -> dict[str, Any]:
    """`plain_ms` and for each other mode `ratio`, `quartiles`, `rounds`, or `reason` where it cannot be measured."""
    for _ in range(3):
        training.step()
    about: dict[str, float] = {}
    found: dict[str, Any] = {}
    for name in names:
        probe = probed(training, MODES[name])
        if isinstance(probe, str):
            found[name] = {"reason": probe}
        else:
            about[name] = probe
    ratios: dict[str, list[float]] = {name: [] for name in about}
    extra: dict[str, list[float]] = {name: [] for name in about}
    plain = []
    begin = time.perf_counter()
    for number in range(effort.rounds):
        if together(training, time.perf_counter() - begin) > effort.limit:
            break
        order = [name for name in about if number % SLOW_EVERY == 0 or not slow(MODES[name], about[name])]
        if number % 2:  # the two whose difference is small change places
            order[:2] = reversed(order[:2])
        seconds = {}
        for name in order:
            try:
                seconds[name] = block(training, MODES[name], about[name], effort)
            except Exception as error:
                if name in ("plain", "nanscope"):
                    raise
                found[name] = {"reason": failure(error)}
                del about[name], ratios[name]
        plain.append(seconds["plain"])
        for name, took in seconds.items():
            ratios[name].append(took / seconds["plain"])
            extra[name].append(took - seconds["plain"])
    for name, values in ratios.items():
        if name != "plain":
            found[name] = {**spread(values), "extra_us": 1e6 * statistics.median(extra[name])}
    return {"plain_ms": 1e3 * statistics.median(plain), "modes": found}


def spread(values: list[float]) -> dict[str, Any]:
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"ratio": middle, "quartiles": [low, high], "rounds": len(values)}


def single(name: str, effort: Effort) -> dict[str, Any]:
    return measure(build(name, effort.small), list(MODES), effort)


def ranked(rank: int, folder: str, name: str, effort: Effort) -> dict[str, Any]:
    training = build(name, effort.small)
    training.part = (rank, 2, os.getcwd())
    return measure(training, list(MODES), effort)


def row(name: str, quick: bool) -> dict[str, Any]:
    """The figures of one model; of several ranks those of the slower one."""
    effort = QUICK if quick else Effort()
    if MODELS[name].ranks == 1:
        return forked(single, name, effort)
    ranks = on_ranks(ranked, name, effort)
    return max(ranks, key=lambda found: found["modes"]["nanscope"].get("ratio", 0.0))


def run(models: list[str], quick: bool) -> dict[str, Any]:
    found = {}
    for name in models:
        found[name] = row(name, quick)
        cells = [
            f"{mode} {f['ratio']:.3f}" if "ratio" in f else f"{mode} -" for mode, f in found[name]["modes"].items()
        ]
        print(f"  {name:9} plain {found[name]['plain_ms']:.2f} ms; {', '.join(cells)}", flush=True)
    return found
