"""A copy of this process from before the program began, kept so that the program can be run again from the very same state.

It sleeps, is nobody's child, and ends with the process that it was copied from. Torch is loaded in it and no kernel has run, so
that a copy of the copy begins where the program began: same modules, same hash seed, same state of every generator.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

ORPHAN_SECONDS = 5.0  # how often it looks whether the process it was copied from is still there
WAIT_SECONDS = 0.005


class Spare:
    """The sleeping copy. `run` wakes it."""

    def __init__(self, end: socket.socket) -> None:
        self._end: socket.socket | None = end

    def run(self, request: str, log: str, cwd: str, timeout: float) -> int | None:
        """Runs the program as the file `request` says; what it prints goes to the file `log`.

        Returns its exit status, negative for a signal; `None` when it took longer than `timeout` seconds. Raises `OSError` when
        the copy is gone.
        """
        if self._end is None:
            raise BrokenPipeError("the spare process was closed")
        try:
            self._end.sendall(
                json.dumps({"request": request, "log": log, "cwd": cwd, "timeout": timeout}).encode() + b"\n"
            )
            answer = _line(self._end)
        except BaseException:
            self.close()  # an interrupt in the middle of an answer: the next one would be read in its place
            raise
        if answer is None:
            self.close()
            raise BrokenPipeError("the spare process has ended")
        status: int | None = json.loads(answer)
        return status

    def close(self) -> None:
        """Lets the copy end. Closing again does nothing."""
        if self._end is not None:
            self._end.close()
            self._end = None


def keep() -> Spare | None:
    """Makes the copy; `None` where a process cannot be copied safely: on systems other than Linux, when CUDA is in use."""
    if not sys.platform.startswith("linux") or _cuda():
        return None
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    of = os.getpid()
    child = os.fork()
    if child:
        theirs.close()
        os.waitpid(child, 0)
        return Spare(ours)
    try:
        os.setsid()
        if os.fork():  # nobody's child: the program may wait for its own
            os._exit(0)
        ours.close()
        _sleep(theirs, of)
    finally:
        os._exit(0)


def _cuda() -> bool:
    torch = sys.modules.get("torch")
    return bool(torch is not None and torch.cuda.is_initialized())


def _sleep(end: socket.socket, of: int) -> None:
    """Serves requests until the other side is gone."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm = False
    while True:
        if not select.select([end], [], [], ORPHAN_SECONDS)[0]:
            if not _alive(of):
                return
            continue
        line = _line(end)
        if line is None:
            return
        if not warm:
            _warm()
            warm = True
        end.sendall(json.dumps(_serve(end, json.loads(line))).encode() + b"\n")


def _warm() -> None:
    """What a first optimizer step would import, once for all who are copied from here."""
    with contextlib.suppress(ImportError):
        import torch._dynamo  # noqa: F401


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _line(end: socket.socket) -> bytes | None:
    found = b""
    while not found.endswith(b"\n"):
        part = end.recv(65536)
        if not part:
            return None
        found += part
    return found


def _serve(end: socket.socket, spec: dict[str, Any]) -> int | None:
    pid = os.fork()
    if pid == 0:
        _run(end, spec)
    until = time.monotonic() + spec["timeout"]
    status: int | None = None
    while True:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(code)
            break
        gone = bool(
            select.select([end], [], [], WAIT_SECONDS)[0]
        )  # nothing is asked before it is answered: it has closed
        if gone or time.monotonic() > until:
            break
    if status is None:
        os.kill(pid, signal.SIGKILL)  # it may not lead a group yet
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # and the processes that it has started
    if status is None:
        os.waitpid(pid, 0)
    return status


def _run(end: socket.socket, spec: dict[str, Any]) -> None:
    status = 70
    try:
        end.close()
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(spec["cwd"])
        log = os.open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        from nanscope.again.__main__ import main

        status = main(spec["request"])
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else 1
    finally:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
