"""Runs the command line of nanscope, or a program by itself, in a forked process that has torch already."""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.corpus_board import warm

PROGRAMS = Path(__file__).resolve().parent / "programs"
FORMATS = ("text", "json", "markdown")


@dataclass(frozen=True)
class Result:
    """What a run left. `status` is negative when a signal ended it."""

    folder: Path
    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any] | None:
        """The report of the run folder `run`; `None` when none was written."""
        path = self.folder / "run" / "report.json"
        return json.loads(path.read_text()) if path.exists() else None

    @property
    def found(self) -> dict[str, Any]:
        """The report of a run that must have one."""
        report = self.report
        assert report is not None, f"no report; status {self.status}; stderr:\n{self.err}"
        return report


def forked(
    folder: Path, action: Callable[[], int], environment: dict[str, str] | None = None, stdin: str = ""
) -> Result:
    """`action` in a child, `folder` being its working directory."""

    def fed() -> int:
        (folder / "stdin").write_text(stdin)
        os.dup2(os.open("stdin", os.O_RDONLY), 0)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        return guarded(action)

    ran = warm.run(folder, fed, environment)
    return Result(folder, ran.status, ran.out, ran.err)


def guarded(action: Callable[[], int]) -> int:
    """A program may close its streams or set them to `None`: the child must end all the same."""
    try:
        return action()
    except Exception:  # noqa: BLE001 - the test reads it
        traceback.print_exc()
        return 70
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def nanscope(folder: Path, *argv: object, environment: dict[str, str] | None = None, stdin: str = "") -> Result:
    """`nanscope ARGV...`"""
    return forked(folder, lambda: command(*argv), environment, stdin)


def command(*argv: object) -> int:
    """`nanscope ARGV...` in this very process."""
    from nanscope.__main__ import main

    sys.argv = ["nanscope", *map(str, argv)]
    return main()


def watched(
    folder: Path, program: Path | str, *args: object, options: tuple[object, ...] = (), budget: int = 0, **more: Any
) -> Result:
    """`nanscope run --out run OPTIONS... PROGRAM ARGS...`; a program given as text is written to `program.py`. Without a
    `budget` in seconds nothing is tried after a trip: most tests look at the diagnosis."""
    limits = ("--out", "run", "--budget", budget)
    return nanscope(folder, "run", *limits, *options, placed(folder, program), *args, **more)


def plain(folder: Path, program: Path | str, *args: object, **more: Any) -> Result:
    """`python PROGRAM ARGS...`"""
    path = placed(folder, program)

    def action() -> int:
        sys.argv = [str(path), *map(str, args)]
        sys.path.insert(0, str(Path(path).absolute().parent))
        runpy.run_path(str(path), run_name="__main__")
        return 0

    return forked(folder, action, **more)


def placed(folder: Path, program: Path | str) -> Path:
    """The path of a program; text becomes `program.py` in `folder`."""
    if isinstance(program, Path):
        return program
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.py").write_text(textwrap.dedent(program).lstrip("\n"))
    return Path("program.py")


def line_of(program: Path | str, mark: str) -> int:
    """The only line of a program that holds `mark`."""
    text = program.read_text() if isinstance(program, Path) else textwrap.dedent(program).lstrip("\n")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if mark in line]
    assert len(lines) == 1, f"{mark!r} is on lines {lines}"
    return lines[0]


def explained(folder: Path, run: str = "run") -> dict[str, Any]:
    """The report that `nanscope explain` gives of a run folder; every format must come without an error."""
    for form in FORMATS:
        told = nanscope(folder, "explain", run, "--format", form)
        assert (told.status, told.err) == (0, ""), f"explain --format {form}: {told}"
        assert told.out.strip(), f"explain --format {form} said nothing"
        if form == "json":
            report = json.loads(told.out)
    assert report["schema"] == "nanscope.report/1"
    return report


def real(
    folder: Path, *argv: object, environment: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """A process of its own, for what a fork cannot show: start-up, signals, pipes."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, **(environment or {})}
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        [*map(str, argv)], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False, **more
    )


class Running:
    """A program under watch in a forked process that goes on while the test looks."""

    def __init__(self, folder: Path, program: Path | str, *args: object, options: tuple[object, ...] = ()) -> None:
        self.folder = folder
        path = placed(folder, program)
        sys.stdout.flush()
        sys.stderr.flush()
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            warm._child(
                folder,
                lambda: guarded(lambda: command("run", "--out", "run", "--budget", 0, *options, path, *args)),
                {},
            )

    def wait_for(self, ready: Callable[[str], bool]) -> None:
        """Reads stdout until it is `ready`; fails if the program ends before it is."""
        path = self.folder / "stdout"
        while True:
            over = self._over()
            text = path.read_text(errors="replace") if path.exists() else ""
            if ready(text):
                return
            assert not over, (
                f"ended with {self.status} before it was ready: {text} {(self.folder / 'stderr').read_text()}"
            )

    def _over(self) -> bool:
        if self.status is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if ended else None
        return self.status is not None

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Sends a signal, if it has not ended; returns the status, negative for a signal."""
        if not self._over():
            os.kill(self.pid, number)
        return self.ended()

    def ended(self) -> int:
        """Waits for the end; returns the status."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status
