"""The fixes of a run that is over: written, run, and told."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from typing import TYPE_CHECKING

from nanscope.fixes.search import Search
from nanscope.fixes.site import Site
from nanscope.fixes.trials import Run, steps_of

if TYPE_CHECKING:
    from nanscope.watcher import Watcher


def prove(watcher: Watcher) -> bool:
    """Tries fixes for the first trip of a run that is over. Returns whether there is something new to report."""
    diagnosed, again, report, folder = watcher.diagnosed, watcher.again, watcher.report, watcher.run_folder
    if diagnosed is None or again is None or report is None or watcher.budget <= 0:
        return False
    trip = json.loads(diagnosed.trip)
    alarm = trip.get("alarm") or {}
    steps = steps_of(folder.place)
    run = Run(
        steps=steps,
        reached=max(trip["step"], alarm.get("seen", 0)),
        healthy=min(trip["step"], alarm.get("step", trip["step"])),
        seconds=steps[-1][1] / 1e9 if steps else 0.0,
        base=folder.info["cwd"],
        command=f"nanscope fix {folder.path}",
        alarms=bool(alarm),
    )
    site = Site(report, json.loads(diagnosed.ledger), run.base, foreign(), since=folder.started)
    Search(again, run, diagnosed.outcomes, watcher.budget_left).start(site)
    return diagnosed.outcomes.any()


def foreign() -> tuple[str, ...]:
    """Folders of installed packages, and of Python."""
    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {path for path in sys.path if path.rstrip(os.sep).endswith(("site-packages", "dist-packages"))}
    return tuple(os.path.realpath(path) + os.sep for path in found)
