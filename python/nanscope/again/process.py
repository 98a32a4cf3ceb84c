"""Where the program is run again: in a copy of the spare process, or in a fresh one."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nanscope.again.spare import Spare


@dataclass(frozen=True)
class Ran:
    """What a run left: its answer (`None` when it gave none), exit status (`None` when it took too long), seconds, last lines."""

    answer: dict[str, Any] | None
    status: int | None
    seconds: float
    said: str

    def last(self) -> str:
        """The last line that it printed."""
        return next((line for line in reversed(self.said.splitlines()) if line.strip()), "")


class Again:
    """How to run the program once more. `spec` names it: `script`, `module`, `args`, `cwd`, `states`; `launched` is the number of
    ranks, where each is a process that a launcher starts. `environment` is that of a fresh process, by default this one's."""

    def __init__(self, spec: dict[str, Any], spare: Spare | None, environment: dict[str, str] | None = None) -> None:
        self.spec = spec
        self._environment = environment
        self._spare = spare

    @contextlib.contextmanager
    def ran(self, errand: str, timeout: float, **arguments: Any) -> Iterator[Ran]:
        """Runs the program on an errand (see `errands`); inside the block its run folder, `Ran.answer["out"]`, is still there."""
        with tempfile.TemporaryDirectory(prefix="nanscope-") as folder:
            request, answer, log = (os.path.join(folder, name) for name in ("request.json", "answer.json", "log"))
            out = os.path.join(folder, "run")
            with open(request, "w", encoding="utf-8") as file:
                asked = {**self.spec, "errand": errand, **arguments, "answer": answer, "out": out}
                json.dump({**asked, "ranks": os.path.join(folder, "ranks")}, file)
            start = time.perf_counter()
            status = self._run(request, log, timeout)
            seconds = time.perf_counter() - start
            found = None
            if os.path.exists(answer):
                with open(answer, encoding="utf-8") as file:
                    found = {**json.load(file), "out": out}
            with open(log, encoding="utf-8", errors="replace") as file:
                yield Ran(found, status, seconds, file.read()[-4000:])

    def _run(self, request: str, log: str, timeout: float) -> int | None:
        if self._spare is not None:
            try:
                return self._spare.run(request, log, self.spec["cwd"], timeout)
            except OSError:
                self._spare = None  # somebody has ended it: a fresh process does as well
        command = [sys.executable, "-m", "nanscope.again", request]
        with (
            open(log, "wb") as file,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd=self.spec["cwd"],
                env=self._environment,
                start_new_session=True,
            ) as process,
        ):
            try:
                return process.wait(None if math.isinf(timeout) else timeout)
            except subprocess.TimeoutExpired:
                return None
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # with the processes that it has started

    def close(self) -> None:
        """Nothing will be run again."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None
