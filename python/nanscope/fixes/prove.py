"""The fixes of a run that is over: written, run, and told."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from typing import TYPE_CHECKING

from nanscope.fixes.search import Search
from nanscope.fixes.site import Site
from nanscope.fixes.trials import Run, run_of

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

SLOW_SECONDS = 1.0  # a run that took longer to its trip: say that it is run again


def proved(watcher: Watcher) -> bool:
    """Tries fixes for the trip that was diagnosed last, and reports again with what came out. Returns whether anything did. An
    interrupt ends the trials and not the report; neither does a failure of ours."""
    diagnosed, folder = watcher.diagnosed, watcher.run_folder
    if diagnosed is None:
        return False
    try:
        news = _tried(watcher)
    except KeyboardInterrupt:
        watcher.warn("fixes were not tried to the end: interrupted")
        news = diagnosed.outcomes.any()
    except Exception as error:  # noqa: BLE001 - the diagnosis stands without it
        watcher.warn(f"fixes could not be tried: {type(error).__name__}: {error}")
        news = diagnosed.outcomes.any()
    if news:
        folder.outcomes(diagnosed.outcomes.plain())
        end = folder.ending("stopped", None, watcher.clock.completed(), watcher.own_seconds())
        watcher.report = diagnosed.report(folder, end)
        folder.report(watcher.report)
    return news


def _tried(watcher: Watcher) -> bool:
    diagnosed, again, report, folder = watcher.diagnosed, watcher.again, watcher.report, watcher.run_folder
    if diagnosed is None or again is None or report is None or watcher.budget <= 0:
        return False
    base = folder.info["cwd"]
    run = run_of(folder.place, report["trip"], base, f"nanscope fix {folder.path}")
    site = Site(report, json.loads(diagnosed.ledger), base, foreign(), since=folder.started)
    announce(run, watcher.budget_left)
    Search(again, run, diagnosed.outcomes, watcher.budget_left).start(site)
    return diagnosed.outcomes.any()


def announce(run: Run, budget: float) -> None:
    """Says that the program is run again, where somebody might wonder."""
    if run.seconds > SLOW_SECONDS:
        sys.stderr.write(f"nanscope: trying fixes, for at most {budget:.0f} s; Ctrl-C ends that\n")


def foreign() -> tuple[str, ...]:
    """Folders of installed packages, and of Python."""
    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {path for path in sys.path if path.rstrip(os.sep).endswith(("site-packages", "dist-packages"))}
    return tuple(os.path.realpath(path) + os.sep for path in found)
