"""From a trip to its located origin, and to the report: a NaN is born halfway through a model, in one step.

Each run is in a process of its own, since in a real program too everything that a diagnosis needs is cold. Located: the step
was run again, every operator also in float64, and the origin is in the run folder. Reported: experiments were made as well.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any

import torch

from benches.models import MODELS, Training, build
from benches.processes import forked, on_ranks
from benches.table import timed

HEALTHY_STEPS = 12
REPEATS = 3
BUDGET_SECONDS = 60.0  # of the experiments, as `nanscope run` has it
PLANTED = "aten.log.default"
LIMIT_STEPS, LIMIT_SECONDS = 12, 0.5  # located within so many plain steps and seconds


def plant(training: Training) -> None:
    """From now on a logarithm of negative numbers is taken halfway."""
    assert training.middle is not None

    def bad(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        return output + torch.log(-1 - output.square())

    training.middle.register_forward_hook(bad)


def tripped(training: Training, folder: str, budget: float) -> dict[str, Any]:
    """Seconds from the trip to the located origin and to the end; what was found."""
    from nanscope import folder as folders
    from nanscope.stop import Stop
    from nanscope.watcher import Watcher

    at: dict[str, float] = {}
    confirm, report = Watcher.confirm, folders.Folder.report

    def confirmed(self: Any, trip: Any) -> bool:
        at.setdefault("trip", time.perf_counter())
        return confirm(self, trip)

    def reported(self: Any, found: Any) -> None:
        report(self, found)
        at.setdefault("located", time.perf_counter())

    Watcher.confirm, folders.Folder.report = confirmed, reported  # type: ignore[method-assign]
    for _ in range(3):
        training.step()
    plain = timed(training.step, 12)
    watcher = Watcher(script="bench", argv=[], out=f"{folder}/run", budget=budget, part=training.part)
    watcher.start()
    how = "finished"
    try:
        for _ in range(HEALTHY_STEPS):
            training.step()
        if training.part is None or training.part[0] == training.part[1] - 1:
            plant(training)
        training.step()
    except Stop:
        how = "stopped"
    finally:
        watcher.finish(how)
    at["end"] = time.perf_counter()
    found = watcher.report or {}
    origin = found.get("origin", {})
    return {
        "plain": plain, "located": at["located"] - at["trip"], "reported": at["end"] - at["trip"],
        "right": origin.get("op") == PLANTED and str(origin.get("file", "")).endswith("trip.py"),
        "operators": found.get("replay", {}).get("operators", 0), "experiments": len(found.get("experiments", [])),
    }  # fmt: skip


def single(name: str, budget: float, small: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return tripped(build(name, small), folder, budget)


def ranked(rank: int, folder: str, name: str, budget: float, small: bool) -> dict[str, Any]:
    """The value is born on the last rank; the others are given it by the all-reduce."""
    training = build(name, small)
    training.part = (rank, 2, os.getcwd())
    return tripped(training, folder, budget)


def once(name: str, budget: float, small: bool) -> dict[str, Any]:
    if MODELS[name].ranks == 1:
        return forked(single, name, budget, small)
    ranks = on_ranks(ranked, name, budget, small)
    found = max(ranks, key=lambda rank: rank["located"])
    return {**found, "right": any(rank["right"] for rank in ranks)}


def run(models: list[str], quick: bool) -> dict[str, Any]:
    found = {}
    for name in models:
        if MODELS[name].modules:
            runs = [once(name, 0.0, quick) for _ in range(1 if quick else REPEATS)]
            full = once(name, BUDGET_SECONDS, quick)
            plain = statistics.median(run["plain"] for run in [*runs, full])
            located = statistics.median(run["located"] for run in [*runs, full])
            found[name] = {
                "plain_ms": 1e3 * plain, "located_s": located, "limit_s": LIMIT_STEPS * plain + LIMIT_SECONDS,
                "steps": located / plain, "reported_s": full["reported"], "experiments": full["experiments"],
                "operators": full["operators"], "right": all(run["right"] for run in [*runs, full]),
            }  # fmt: skip
            print(f"  {name:9} located in {located:.2f} s, of at most {found[name]['limit_s']:.2f} s", flush=True)
    return found
