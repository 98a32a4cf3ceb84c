"""When a tape cannot be replayed: the whole program again, the failing step traced as it happens."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanscope.again.process import Again
    from nanscope.trip import Trip
    from nanscope.watcher import Watcher

RERUN_MAX_SECONDS = 900.0  # a run longer than this is not repeated unasked
SLACK = 30.0  # a rerun may take this many times as long as the run did, plus start-up


def instead(watcher: Watcher, trip: Trip, ledger: dict[str, Any]) -> dict[str, Any]:
    """The ledger of a rerun, if one can be had; otherwise `ledger` with a warning that says why not."""
    reason = "; ".join(ledger.get("warnings", [])) or "the replay was not faithful"
    notes = ledger.setdefault("warnings", [])
    took = watcher.run_folder.seconds()
    if watcher.again is None:
        notes.append("a rerun is possible for `nanscope run` only")
        return ledger
    if took > RERUN_MAX_SECONDS:
        notes.append(f"the program was not run again: it had taken {took:.0f} s by the step of the trip")
        return ledger
    sys.stderr.write(f"nanscope: {reason}; running the program again, with step {trip.step} traced as it happens\n")
    sys.stderr.flush()
    start = time.perf_counter()
    found, problem = _run(watcher.again, trip, 60.0 + SLACK * took)
    if found is None:
        notes.append(f"a rerun did not help: {problem}")
        return ledger
    found["facts"] = {**ledger.get("facts", {}), **found.get("facts", {})}
    found["seconds"] = time.perf_counter() - start
    return found


def _run(again: Again, trip: Trip, timeout: float) -> tuple[dict[str, Any] | None, str]:
    with again.ran("trace", timeout, arm=trip.step) as ran:
        if ran.status is None:
            return None, f"it took longer than {timeout:.0f} s"
        if ran.answer is None:
            return None, f"it did not trip (status {ran.status}{': ' + ran.last() if ran.last() else ''})"
        found = ran.answer
        del found["out"]
        if found.pop("step") != trip.step:
            return None, "it tripped at another step: the program is not deterministic"
        return found, ""
