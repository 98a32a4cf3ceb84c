"""`nanscope fix RUN --prove`: the program with a fix, run once more."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from nanscope import _core


def once_more(command: Any) -> int:
    """Runs the program as a fix has it, and tells whether it gets past the step that failed: exit status 0, else 1; 2 where it
    cannot be tried."""
    from nanscope.run import Refused, need_torch, say, states

    try:
        files, report_text, info_text = _core.fixed(command.out, command.number, command.lang)
        need_torch()
    except (Refused, ValueError) as error:
        sys.stderr.write(f"nanscope fix: {error}\n")
        return 2
    from nanscope.again.process import Again
    from nanscope.fixes.trials import losses_of, run_again, run_of, succeeded, why

    report, info = json.loads(report_text), json.loads(info_text)
    trip = report["trip"]
    module = info.get("module", False)
    spec = {
        "script": None if module else info["script"],
        "module": info["script"] if module else None,
        "args": info["argv"],
        "cwd": info["cwd"],
        "states": states(),
    }
    if info.get("world_size", 1) > 1:  # a launcher has started each rank
        spec["launched"] = info["world_size"]
    run = run_of(command.out, trip, info["cwd"])
    sources = {path: bytes(data).decode("utf-8", "surrogateescape") for path, data in files}
    sys.stderr.write(
        f"nanscope: running the program again, past step {run.reached}; that took {run.seconds:.0f} s before\n"
    )
    try:
        trial = run_again(Again(spec, None), run, sources, math.inf)
    except OSError as error:
        sys.stderr.write(f"nanscope fix: the program cannot be run again: {error}\n")
        return 2
    fix = report["fixes"][command.number - 1]
    before = losses_of(run.steps, run.healthy)
    same = sum(trial.losses.get(step) == loss for step, loss in before.items())
    if succeeded(run, trial):
        told = (
            f"past step {run.reached}, finite for {trial.steps} steps; {same} of {len(before)} healthy losses the same"
        )
    else:
        told = f"failed: {why(run, trial)[command.lang]}"
    say(sys.stdout, f"{fix['id']}: {told}\n")
    sys.stdout.flush()
    return 0 if succeeded(run, trial) else 1
