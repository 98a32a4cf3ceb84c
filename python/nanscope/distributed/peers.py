"""The other ranks of a job, met through files in the run folder: nothing is added to the program's own communication.

step-S-N-rank-R    rank R has tripped in step S for the Nth time, before its update
step-S-N-decision  how the step is run again; the first who decides, decides for all
heal-S-...       a fix is made in all ranks: see `healing`
stopped-rank-R   rank R has told what it knows and leaves
ended-rank-R     rank R writes no more (of a job that a launcher has started)
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

POLL_SECONDS = 0.01
MEET_SECONDS = 2.0  # at least so long a rank waits for the others to trip in the same step
MEET_STEPS = 4.0  # and this many times the duration of a step
MEET_MAX_SECONDS = 60.0
DECISION = "-decision"  # the only files that more than one rank may make
LEAVE_SECONDS = 120.0  # for others that are still running their step again


class Decision(NamedTuple):
    """What ranks have decided at a trip. `together`: all have tripped in the step, with the same calls to run again, and run it
    in step with each other. `all`: all have tripped in it, and may leave their update out."""

    together: bool
    all: bool


class Peers:
    """Rank `rank` of `world`; `folder` is shared by all ranks of the job."""

    def __init__(self, folder: str, rank: int, world: int) -> None:
        self.rank = rank
        self.world = world
        self.folder = os.path.join(folder, "meeting")
        self._trips: Counter[int] = Counter()  # of this rank, by step: two optimizers may trip in the same one

    def meet(self, step: int, calls: list[str], step_seconds: float) -> Decision:
        """Says that this rank has tripped in `step`, and decides with the others. Waits for a few times `step_seconds`."""
        wait = min(MEET_SECONDS + MEET_STEPS * step_seconds, MEET_MAX_SECONDS)
        if not self.announce(step, calls):
            return Decision(False, False)
        meeting = f"step-{step}-{self._trips[step]}"
        decision = meeting + DECISION
        present: list[str] = []

        def all_here() -> bool:
            present[:] = glob.glob(os.path.join(glob.escape(self.folder), f"{meeting}-rank-*"))
            return len(present) >= self.world or self._has(decision)

        here = _until(all_here, wait) and len(present) >= self.world
        together = here and all(self._read(name).get("calls") == calls for name in present)
        self._post(decision, {"together": together, "all": here})
        decided = self._read(os.path.join(self.folder, decision))
        return Decision(bool(decided.get("together")), bool(decided.get("all")))

    def announce(self, step: int, calls: list[str] | None = None) -> bool:
        """Says that this rank has tripped in `step`. False when that cannot be said."""
        self._trips[step] += 1
        return self._post(f"step-{step}-{self._trips[step]}-rank-{self.rank}", {"calls": calls, **_process()})

    def agree(self, what: str, yes: bool, seconds: float) -> bool:
        """Whether all ranks say yes to `what`; all are told the same. Waits for them, at most so many seconds; a rank that has gone
        says no."""
        name, decision = f"{what}-rank-", what + DECISION
        if not self._post(f"{name}{self.rank}", {"yes": yes}):
            return False
        others = [rank for rank in range(self.world) if rank != self.rank]

        def settled() -> bool:
            return (
                not yes
                or self._has(decision)
                or all(self._has(f"{name}{rank}") for rank in others)
                or any(self._gone(rank) for rank in others if not self._has(f"{name}{rank}"))
            )

        _until(settled, seconds)
        self._post(
            decision, {"yes": all(self.posted(f"{name}{rank}").get("yes") is True for rank in range(self.world))}
        )
        return self.posted(decision).get("yes") is True

    def wait_for(self, name: str, rank: int, seconds: float) -> dict[str, Any]:
        """What `rank` posts under `name`; empty where it does not within so many seconds, or has gone."""
        _until(lambda: self._has(name) or self._gone(rank), seconds)
        return self.posted(name)

    def others_tripped(self) -> list[int]:
        """Other ranks that have tripped so far."""
        found = {int(name.rsplit("-", 1)[1]) for name in self._named("step-*-rank-*")}
        return sorted(found - {self.rank})

    def others_stopped(self) -> list[int]:
        """Other ranks that have told what they know after a trip, and have left."""
        found = {int(name.rsplit("-", 1)[1]) for name in self._named("stopped-rank-*")}
        return sorted(found - {self.rank})

    def leave(self) -> None:
        """After a trip: waits until the others that have tripped have told what they know, as the end of one rank ends all."""
        self._post(f"stopped-rank-{self.rank}", _process())
        if self._trips:
            _until(lambda: all(self._gone(rank) for rank in self.others_tripped()), LEAVE_SECONDS)

    def post_end(self) -> None:
        """This rank writes no more."""
        self._post(f"ended-rank-{self.rank}", _process())

    def wait_for_ends(self, ranks: list[int], seconds: float) -> None:
        """Until `ranks` write no more."""
        _until(lambda: all(self._has(f"ended-rank-{rank}") for rank in ranks), seconds)

    def wait_for_report(self, seconds: float) -> None:
        """Until the report of all ranks is there: a launcher ends the others as soon as one has failed."""
        _until(lambda: os.path.exists(os.path.join(os.path.dirname(self.folder), "report.json")), seconds)

    def _gone(self, rank: int) -> bool:
        if self._has(f"stopped-rank-{rank}"):
            return True
        posts = [self._read(name) for name in self._named(f"step-*-rank-{rank}")]
        return any(_dead(post) for post in posts)

    # ---- files

    def _has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.folder, name))

    def _named(self, pattern: str) -> list[str]:
        return glob.glob(os.path.join(glob.escape(self.folder), pattern))

    def post(self, name: str, content: dict[str, Any]) -> bool:
        """Makes a file for others to read. False when that cannot be done."""
        return self._post(name, content)

    def posted(self, name: str) -> dict[str, Any]:
        """What another rank has made; empty where it has not."""
        return self._read(os.path.join(self.folder, name))

    def withdraw(self, name: str) -> None:
        """Takes away what this rank has made."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, name))

    def _post(self, name: str, content: dict[str, Any]) -> bool:
        """Makes a file whole, or not at all; a decision that is there stays. False when the folder cannot be written."""
        path = os.path.join(self.folder, name)
        own = os.path.join(self.folder, f".{name}-{self.rank}-{os.getpid()}")
        try:
            os.makedirs(self.folder, exist_ok=True)
            with open(own, "w", encoding="utf-8") as file:
                json.dump(content, file)
            if not name.endswith(DECISION):
                os.replace(own, path)
                return True
            with contextlib.suppress(FileExistsError):
                os.link(own, path)
        except OSError:  # a disk that is full costs the meeting: this rank goes on alone
            return False
        finally:
            with contextlib.suppress(OSError):
                os.unlink(own)
        return True

    @staticmethod
    def _read(path: str) -> dict[str, Any]:
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
                return found if isinstance(found, dict) else {}
        except (OSError, ValueError):  # not there, or not whole on a file system that is shared
            return {}


def stopped(folder: str) -> bool:
    """Whether a rank whose logs lie in `folder` has ended after a trip."""
    return bool(glob.glob(os.path.join(glob.escape(folder), "meeting", "stopped-rank-*")))


def _process() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getpid()}


def frozen(pid: int) -> bool:
    """Whether a process of this machine is stopped (SIGSTOP, a debugger). False where that cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False


def _dead(post: dict[str, Any]) -> bool:
    """True for a process of this machine that is no more, or frozen: it will tell nothing."""
    if post.get("host") != socket.gethostname() or "pid" not in post:
        return False
    try:
        os.kill(post["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return frozen(post["pid"])


def _until(holds: Callable[[], bool], seconds: float) -> bool:
    """Waits until `holds()`; False when that took too long."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True
