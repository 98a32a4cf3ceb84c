"""A fix made in all ranks of a running job, or in none.

All ranks have tripped in the same step, so that none is in the middle of a collective. They wait while rank 0 runs the whole job
again with one fix after the other; then each looks whether the fix can be made in its own process, and only where all can, all do.
What they tell each other lies in files, as in `Peers`:

heal-S-told-rank-R      the log of rank R holds its diagnosis of step S
heal-S-found-by-rank-0  what rank 0 has tried, and for which rank's log it is
heal-S-written-rank-R   the log of the rank to blame holds it
heal-S-N-rank-R         whether rank R can make fix N
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

TOLD_SECONDS = 120.0  # for ranks that run their step again
SLACK_SECONDS = 120.0  # beyond the budget: a trial that has begun, and the run without a fix beside it
READY_SECONDS = 60.0  # to compile what has changed


@dataclass(frozen=True)
class Whole:
    """How one rank runs the whole job again: `spec` as `Again` takes it, `place` the run folder of all ranks, `path` the same as
    the user knows it, `budget` in seconds, `environment` that of the process that has started the ranks."""

    spec: dict[str, Any]
    place: str
    path: str
    budget: float
    environment: dict[str, str]


def heal(watcher: Watcher) -> bool:
    """Proves fixes for the first trip of the job and makes the best that can be made. Returns whether all ranks have made it; all
    get the same answer. False for a later trip: what was made has not helped then."""
    peers, whole, diagnosed = watcher.peers, watcher.whole, watcher.diagnosed
    if peers is None or diagnosed is None or watcher.tried:
        return False
    watcher.tried = True
    if whole is None:
        watcher.warn("no fix was made: a job on several machines cannot be run again by one of its ranks")
        return False
    folder = watcher.run_folder
    folder.flush()
    about = f"heal-{diagnosed.outcomes.step}"
    if not peers.agree(f"{about}-told", True, TOLD_SECONDS):
        watcher.warn("no fix was made: not all ranks have come so far as to diagnose the step")
        return False
    found = _found(watcher, whole, f"{about}-found-by-rank-0")
    if found.get("rank") == peers.rank:
        folder.outcomes(found["outcomes"])
        folder.flush()
    fixes = found.get("outcomes", {}).get("fixes", [])
    proved = [(number, fix["id"]) for number, fix in enumerate(fixes, 1) if (fix.get("proof") or {}).get("proved")]
    if not peers.agree(f"{about}-written", bool(proved), READY_SECONDS):
        watcher.warn(f"no fix was made: {found.get('why', 'none is proved')}")
        return False
    return any(_made(watcher, whole, f"{about}-{number}", number, name) for number, name in proved)


def _found(watcher: Watcher, whole: Whole, name: str) -> dict[str, Any]:
    """What rank 0 has tried: it tries now, the others wait."""
    peers = watcher.peers
    assert peers is not None
    if peers.rank != 0:
        return peers.wait_for(name, 0, whole.budget + SLACK_SECONDS)
    try:
        found = _tried(watcher, whole)
    except Exception as error:  # noqa: BLE001 - our fault must not become the program's, and the others wait for an answer
        found = {"why": f"fixes could not be tried: {type(error).__name__}: {error}"}
    peers.post(name, found)
    return found


def _tried(watcher: Watcher, whole: Whole) -> dict[str, Any]:
    import json

    from nanscope import _core
    from nanscope.again.process import Again
    from nanscope.fixes.job import Job, tried

    folder = watcher.run_folder
    report = json.loads(_core.merged(whole.place, folder.lang))
    job = Job(whole.place, whole.path, folder.info["cwd"], folder.started)
    _, outcomes = tried(job, report, Again(whole.spec, None, whole.environment), whole.budget)
    if outcomes is None:
        return {"why": "the report of all ranks names no step that could be mended"}
    return {"rank": report["trip"]["rank"], "outcomes": outcomes.plain()}


def _made(watcher: Watcher, whole: Whole, what: str, number: int, name: str) -> bool:
    """Makes a proved fix, where every rank can."""
    from nanscope.fixes.heal import Unhealable, edits, make

    peers, folder = watcher.peers, watcher.run_folder
    assert peers is not None
    wanted, why = None, "it cannot be made in another rank"
    try:
        wanted = edits(whole.place, number, folder.lang)
    except Unhealable as error:
        why = str(error)
    if not peers.agree(what, wanted is not None, READY_SECONDS) or wanted is None:
        watcher.warn(f"the fix {name} was not made: {why}")
        return False
    make(wanted)
    step = watcher.clock.now()
    watcher.warn(f"step {step}: the fix {name} was made in memory in all ranks, and the update left out")
    return True
