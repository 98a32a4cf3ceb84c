"""The watch of a process that the watched program has started: it begins once the process begins to train.

Imports no torch: a process that never trains pays for a few lines of Python.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

STOPPED = 1  # exit status of a process that the watch has ended


@dataclass(frozen=True)
class Handover:
    """What a started process is told: `folder` holds the logs of all that were started with it, `number` is its place among
    them; the others are the options of the watch."""

    folder: str
    number: int
    script: str
    argv: list[str]
    cwd: str
    options: dict[str, Any]


class Child:
    """Takes the place of `Process.run` in a process that is about to start. Pickled for `spawn` and `forkserver`."""

    def __init__(self, handover: Handover) -> None:
        self.handover = handover

    def __call__(self) -> None:
        from multiprocessing.process import current_process

        process = current_process()
        vars(process).pop("run", None)  # this very object
        watch = ChildWatch(self.handover)
        watch.run(process.run)


class ChildWatch:
    """Waits for the first sign of training, then watches. `watcher` is `None` until then."""

    def __init__(self, handover: Handover) -> None:
        self.handover = handover
        self.watcher: Any = None
        self._pid = os.getpid()

    def run(self, function: Any) -> None:
        """Calls `function` under the watch; exceptions pass through, but for those that a stop of the watch has caused."""
        from nanscope.distributed.tripwires import Tripwires
        from nanscope.stop import Stop

        wires = Tripwires(self.begin)
        wires.install()
        how, error, status = "finished", None, 0
        try:
            function()
        except Stop:
            how, status = "stopped", STOPPED
        except SystemExit as exit_:
            # torch.multiprocessing turns an exception into an exit.
            how, error, status = "exited", exit_.__context__, exit_.code if isinstance(exit_.code, int) else 1
            if not self._finish(how, status, error):
                raise
            raise SystemExit(self._status()) from None
        except BaseException as raised:
            if not self._finish("raised", 1, raised):
                raise
            raise SystemExit(self._status()) from None
        finally:
            wires.uninstall()
        if self._finish(how, status, error) and how == "stopped":
            raise SystemExit(self._status())

    def _status(self) -> int:
        """Who has done its errand ends as if all were well: whoever joins it would end the others."""
        watcher = self.watcher
        return 0 if watcher is not None and watcher.errand is not None and not watcher.tripped else STOPPED

    def begin(self) -> None:
        """The process begins to train: installs the watch."""
        if self.watcher is not None or os.getpid() != self._pid:
            return
        import torch.distributed as distributed

        from nanscope.watcher import Watcher

        given = self.handover
        joined = distributed.is_available() and distributed.is_initialized()
        rank = distributed.get_rank() if joined else int(os.environ.get("RANK", given.number))
        world = distributed.get_world_size() if joined else int(os.environ.get("WORLD_SIZE", 1))
        part = (rank, world, given.cwd)
        try:
            self.watcher = Watcher(
                script=given.script, argv=given.argv, out=free(given.folder, rank), part=part, **given.options
            )
        except OSError as error:  # the program trains all the same
            if sys.stderr is not None:
                sys.stderr.write(f"nanscope: rank {rank} is not watched: {error}\n")
            return
        self.watcher.start()

    def _finish(self, how: str, status: int, error: BaseException | None) -> bool:
        """Ends the watch. True if what the process ends with comes from a stop, its own or that of another rank."""
        watcher = self.watcher
        if watcher is None or os.getpid() != self._pid:
            return how == "stopped"
        watcher.finish(how, status, error)
        if watcher.errand is not None:
            watcher.errand.over(watcher, *(("stopped", None) if watcher.let_down else (how, error)))
        return bool(watcher.stopped or watcher.let_down)


def free(folder: str, rank: int) -> str:
    """`folder`, or the next one beside it without a log of `rank`: a process that takes the place of another."""
    stem, _, number = folder.rpartition("-")
    if not number.isdigit():
        stem, number = folder, "1"
    count = int(number)
    while os.path.exists(os.path.join(folder, f"rank-{rank}.log")):
        count += 1
        folder = f"{stem}-{count}"
    return folder
