"""A forked process per program: torch is imported once, lazy imports included."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_SECONDS = 240  # programs of ranks import torch in every process


def warm() -> None:
    """Imports what a first optimizer step would import. Runs no kernel, so that no thread exists when we fork."""
    # Whoever runs this in the background may have it started with interrupts ignored, and so all its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy  # noqa: F401
    import torch
    import torch._dynamo
    import torch.distributed
    import torch.utils.checkpoint
    import torch.utils.data

    import nanscope.diagnosis
    import nanscope.run
    import nanscope.watcher  # noqa: F401

    torch.optim.SGD([torch.nn.Parameter(torch.empty(()))], lr=0.0)


@dataclass(frozen=True)
class Ran:
    """What a forked run left: exit status (negative: the signal that ended it), texts, seconds."""

    status: int
    out: str
    err: str
    seconds: float


def run(folder: Path, action: Callable[[], int], environment: dict[str, str] | None = None) -> Ran:
    """Runs `action` in a forked child with `folder` as its working directory."""
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _child(folder, action, environment or {})
    status = _wait(pid, start)
    out, err = (folder / "stdout").read_text(errors="replace"), (folder / "stderr").read_text(errors="replace")
    return Ran(status, out, err, time.perf_counter() - start)


def _wait(pid: int, start: float) -> int:
    def end(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself meanwhile
            os.kill(pid, signal.SIGKILL)

    previous = signal.signal(signal.SIGALRM, end)
    signal.alarm(TIMEOUT_SECONDS)
    try:
        _, code = os.waitpid(pid, 0)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    return os.waitstatus_to_exitcode(code)


def _child(folder: Path, action: Callable[[], int], environment: dict[str, str]) -> None:
    status = 70
    try:
        os.chdir(folder)
        os.environ.update(environment)
        for name, fd in (("stdout", 1), ("stderr", 2)):
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, fd)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(TIMEOUT_SECONDS)  # a program that hangs ends by itself
        status = action()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    except BaseException:  # noqa: BLE001 - the parent reads it from stderr
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:  # the program may have closed them; the child must end here all the same
            os._exit(status)
