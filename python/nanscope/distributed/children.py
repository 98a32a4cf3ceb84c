"""The processes that a watched program has started, as its own process sees them."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import signal
import threading
import time
import weakref
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from nanscope.distributed.child import Child, Handover
from nanscope.distributed.peers import frozen, stopped

if TYPE_CHECKING:
    from nanscope.again.errand import Errand

POLL_SECONDS = 0.25
GRACE_SECONDS = 10.0  # from the end of a rank that has tripped to the end of those that wait for it
ERRAND_GRACE_SECONDS = 5.0  # the same, where the program is run again
KILL_SECONDS = 5.0
FACTS_BYTES = 1 << 16  # of a log, in which its facts stand


class Children:
    """Hands the watch over to each process. Those that run at the same time have one folder for their logs."""

    def __init__(
        self, folder: str, script: str, argv: list[str], options: dict[str, Any], errand: Errand | None = None
    ) -> None:
        self._place = os.path.abspath(folder)
        self._about = (script, argv, os.getcwd(), options)
        self._on_trip = options["on_trip"]
        self._errand = errand  # what the program is being run again for
        self.folders: list[str] = []
        self._running: list[weakref.ref[Any]] = []
        self._started = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def hand_over(self, process: Any) -> Callable[[], None]:
        """`process` is about to start. Returns what is to be called once it has."""
        if not self.folders or not self._alive() or self._trained():
            self._new_folder()
        script, argv, cwd, options = self._about
        if self._errand is not None:
            options = {**options, "errand": self._errand.of_rank(self.folders[-1], self._started)}
        process.run = Child(Handover(self.folders[-1], self._started, script, argv, cwd, options))
        self._started += 1
        self._running.append(weakref.ref(process))
        if self._thread is None:
            self._thread = threading.Thread(target=self._attend, daemon=True)
            self._thread.start()

        def started() -> None:
            vars(process).pop("run", None)

        return started

    def stopped(self) -> bool:
        """Whether one of them has ended after a trip."""
        return any(stopped(folder) for folder in self.folders)

    def any(self) -> bool:
        """Whether one of them has trained."""
        return any(os.path.isdir(folder) for folder in self.folders)

    def close(self) -> None:
        """The watch ends."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _new_folder(self) -> None:
        count = len(self.folders) + 1
        while os.path.exists(folder := os.path.join(self._place, "ranks" if count == 1 else f"ranks-{count}")):
            count += 1  # of a process that has taken the place of another
        self.folders.append(folder)
        self._running, self._started = [], 0

    def _trained(self) -> bool:
        """Whether those of the last folder that have trained are all gone; servers of the program may live on."""
        return bool(logged(self.folders[-1])) and not self._ranks()

    def _ranks(self) -> list[int]:
        """Of those that are alive, the ones that train: they have a log."""
        there = logged(self.folders[-1])
        return [pid for pid in self._alive() if pid in there]

    def _alive(self) -> list[int]:
        """Process ids. Asks without taking the exit status, which is for whoever joins the process."""
        found = []
        for process in (weak() for weak in self._running):
            with contextlib.suppress(ValueError):  # closed already
                if process is not None and process.pid is not None and not wait([process.sentinel], 0):
                    found.append(process.pid)
        return found

    def _attend(self) -> None:
        """A rank that waits in a collective for one that has stopped would wait for ever; so would whoever joins a rank that is
        frozen, and cannot hear that it is to end."""
        while not self._over.wait(POLL_SECONDS):
            _signal([pid for pid in self._alive() if cannot_hear(pid)], signal.SIGCONT)
            if self._on_trip not in ("stop", "heal") or not self.folders or not stopped(self.folders[-1]):
                continue
            if self._over.wait(ERRAND_GRACE_SECONDS if self._errand is not None else GRACE_SECONDS):
                return
            _signal(self._ranks(), signal.SIGTERM)
            end = time.monotonic() + KILL_SECONDS
            while self._ranks() and time.monotonic() < end and not self._over.wait(POLL_SECONDS):
                pass
            _signal(self._ranks(), signal.SIGKILL)
            return


def logged(folder: str) -> set[int]:
    """Ids of the processes whose logs lie in `folder`, from the facts that each log begins with."""
    found: set[int] = set()
    for path in glob.glob(os.path.join(glob.escape(folder), "rank-*.log")):
        with open(path, "rb") as file:
            told = re.search(rb'"pid":\s*(\d+)', file.read(FACTS_BYTES))
        if told is not None:
            found.add(int(told[1]))
    return found


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def cannot_hear(pid: int) -> bool:
    """Whether a process is frozen (SIGSTOP) and was told to end since."""
    if not frozen(pid):
        return False
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            pending = [line.split()[1] for line in file if line.startswith(("SigPnd:", "ShdPnd:"))]
    except OSError:
        return False
    return any(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in pending)
