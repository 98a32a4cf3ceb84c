"""Where in a step the watch spends its time: every statement of the loop, plain and watched in turn."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

from benches.models import Training, build
from benches.peers import MODES, YOUNG
from benches.processes import forked
from benches.table import Effort

MODELS = ("mlp", "functions")
STATEMENTS = ("forward", "criterion", "zero_grad", "backward", "optimizer.step", "item")
EFFORT = Effort(rounds=15)
BLOCK_STEPS = 100


def split(training: Training) -> list[float]:
    """Seconds of each statement of one step."""
    *inputs, target = training.batch()
    at = [time.perf_counter()]
    out = training.forward(*inputs)
    at.append(time.perf_counter())
    loss = training.criterion(out, target)
    at.append(time.perf_counter())
    training.optimizer.zero_grad()
    at.append(time.perf_counter())
    loss.backward()
    at.append(time.perf_counter())
    training.optimizer.step()
    at.append(time.perf_counter())
    loss.item()
    at.append(time.perf_counter())
    return [b - a for a, b in itertools.pairwise(at)]


def medians(rows: list[list[float]]) -> list[float]:
    return [1e6 * statistics.median(column) for column in zip(*rows, strict=True)]


def measured(name: str, effort: Effort) -> dict[str, Any]:
    """Microseconds of each statement: plain, and what the watch adds; and what it adds while it is young."""
    training = build(name, effort.small)
    plain, watched, young, own = [], [], [], []
    steps = BLOCK_STEPS if effort.rounds > 1 else 5
    for _ in range(effort.rounds):
        plain.append(medians([split(training) for _ in range(steps)]))
        with MODES["nanscope"].around(training):
            young.append(medians([split(training) for _ in range(min(YOUNG, steps))]))
            before = own_seconds()
            watched.append(medians([split(training) for _ in range(steps)]))
            own.append(1e6 * (own_seconds() - before) / steps)
    added = [
        [statistics.median(w[i] - p[i] for w, p in zip(rows, plain, strict=True)) for i in range(len(STATEMENTS))]
        for rows in (watched, young)
    ]
    base = [statistics.median(p[i] for p in plain) for i in range(len(STATEMENTS))]
    return {
        "plain_us": dict(zip(STATEMENTS, base, strict=True)),
        "added_us": dict(zip(STATEMENTS, added[0], strict=True)),
        "young_us": sum(added[1]),
        "own_us": statistics.median(own),
    }


def own_seconds() -> float:
    """What the running watch counts as its own time."""
    from nanscope import watcher

    assert watcher._active is not None
    return watcher._active.own_seconds()


def run(models: list[str], quick: bool) -> dict[str, Any]:
    effort = Effort(rounds=1, small=True) if quick else EFFORT
    found = {}
    for name in MODELS:
        found[name] = forked(measured, name, effort)
        parts = ", ".join(f"{key} {value:.0f}" for key, value in found[name]["added_us"].items())
        print(f"  {name:9} us added: {parts}", flush=True)
    return found
