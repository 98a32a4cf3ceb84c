"""The experiments on one failing step: planned in Rust, run here within a budget, the most telling first."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from nanscope import _core
from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change
from nanscope.experiments.scout import Scout
from nanscope.outcomes import Diagnosed, text
from nanscope.replay.names import Names
from nanscope.replay.player import Unplayable
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

SHARE = 0.5  # of the budget; what experiments leave of it is for proofs
SLOW_SECONDS = 0.5  # a plain replay longer than this: say that it will take a while


def conduct(watcher: Watcher, trip: Trip, report: dict[str, Any], diagnosed: Diagnosed) -> None:
    """Runs what is planned for `trip`, and puts the outcomes into `diagnosed`."""
    from nanscope.diagnosis import leaves

    start, budget = time.monotonic(), watcher.budget * SHARE
    names = Names(trip.roots, list(watcher.optimizers))
    parameters = [*names.all_parameters(), *leaves(trip)]
    scalers = [watcher.scaler] if watcher.scaler is not None else []
    base = watcher.run_folder.info["cwd"]
    bench = Bench(trip, names, parameters, scalers, base, start + budget)
    outcomes = diagnosed.outcomes
    try:
        scout = Scout(bench.storages)
        bench.run(scout)
        bench.plain = bench.run(Change())
    except Unplayable:
        return
    if bench.plain.finite:
        outcomes.warnings.append(
            text(
                "no experiments: the step is finite when it is run without observation",
                "실험하지 않음: 관찰하지 않고 실행하면 스텝이 유한함",
            )
        )
        return
    bench.timed(Change(), bench.plain)
    if bench.plain.seconds > SLOW_SECONDS:
        sys.stderr.write(f"nanscope: trying changes on step {trip.step}, for at most {budget:g} s\n")
    plan = json.loads(_core.plan(json.dumps(report), diagnosed.ledger, json.dumps(scout.plain())))
    left_out: list[dict[str, Any]] = []
    for planned in plan:
        if bench.over(2):
            left_out.append(planned)
            continue
        family = importlib.import_module(f"nanscope.experiments.{planned['family']}")
        with contextlib.suppress(Unplayable):  # with this change the step cannot be run
            outcomes.experiments += family.run(bench, planned)
        outcomes.island = bench.island
    if left_out:
        listed = {lang: ", ".join(planned["change"][lang] for planned in left_out) for lang in ("en", "ko")}
        outcomes.warnings.append(
            text(
                f"{budget:g} s for experiments were spent before: {listed['en']}",
                f"실험에 쓸 {budget:g}초가 지나 실행하지 못한 실험: {listed['ko']}",
            )
        )
