"""Peak resident memory of a training under every mode, each in a process of its own."""

from __future__ import annotations

import importlib
import os
import statistics
from typing import Any

from benches.models import MODELS, build
from benches.peers import MODES
from benches.processes import forked, on_ranks, peak_mib

STEPS = 24
REPEATS = 5  # of plain and watched trainings, whose difference is small; one of the peers


def trained(name: str, mode_name: str, steps: int, small: bool) -> float | str:
    """Peak MiB of a process that trains; or why there is none."""
    training = build(name, small)
    mode = MODES[mode_name]
    reason = mode.missing(training)
    if reason is not None:
        return reason
    try:
        with mode.around(training) as step:
            for _ in range(steps):
                step()
    except Exception as error:  # noqa: BLE001 - a peer that fails is a result
        return f"does not run: {type(error).__name__}"
    return peak_mib()


def trained_rank(rank: int, folder: str, name: str, mode_name: str, steps: int, small: bool) -> float | str:
    training = build(name, small)
    training.part = (rank, 2, os.getcwd())
    with MODES[mode_name].around(training) as step:
        for _ in range(steps):
            step()
    return peak_mib()


def run(models: list[str], quick: bool) -> dict[str, Any]:
    """For each model `plain_mib`, and for each mode `extra_mib` beside it or `reason`."""
    importlib.import_module("transformers.models.llama.modeling_llama")  # in all processes alike
    steps, repeats = (4, 1) if quick else (STEPS, REPEATS)
    found = {}
    for name in models:
        peaks: dict[str, Any] = {}
        if MODELS[name].ranks > 1:
            for mode in ("plain", "nanscope"):
                runs = [max(on_ranks(trained_rank, name, mode, steps, quick)) for _ in range(min(repeats, 2))]
                peaks[mode] = statistics.median(runs)
        else:
            for mode in MODES:
                count = repeats if mode in ("plain", "nanscope") else 1
                few = steps if mode in ("plain", "nanscope") else min(steps, 4)
                runs = [forked(trained, name, mode, few, quick) for _ in range(count)]
                reasons = [run for run in runs if isinstance(run, str)]
                peaks[mode] = reasons[0] if reasons else statistics.median(runs)
        plain = peaks.pop("plain")
        modes = {
            mode: {"reason": peak} if isinstance(peak, str) else {"extra_mib": peak - plain}
            for mode, peak in peaks.items()
        }
        found[name] = {"plain_mib": plain, "modes": modes}
        print(f"  {name:9} plain {plain:.0f} MiB; nanscope {modes['nanscope']['extra_mib']:+.1f} MiB", flush=True)
    return found
