"""What is run on a program: nanscope, nothing, or torch's own anomaly mode."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.corpus_board.warm import Ran, run

PROGRAM = "program.py"


def write(folder: Path, source: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / PROGRAM).write_text(source)


def watched(
    folder: Path, source: str, fix: bool = False, arguments: list[str] | None = None, options: list[str] | None = None
) -> tuple[Ran, dict[str, Any] | None]:
    """The program under `nanscope run`, with `options` and the program's own `arguments`; the report if one was written."""
    write(folder, source)

    def action() -> int:
        from nanscope import _core
        from nanscope.run import run as nanscope_run

        command = [
            "nanscope",
            "run",
            "--json",
            "report.json",
            "--out",
            "run",
            *(options or []),
            PROGRAM,
            *(arguments or []),
        ]
        return nanscope_run(_core.parse(command))

    ran = run(folder, action, {"FIX": "1"} if fix else {"FIX": ""})
    report = folder / "report.json"
    return ran, json.loads(report.read_text()) if report.exists() else None


def tried(folder: Path) -> list[dict[str, Any]]:
    """The fixes that a watched run has run, in that order."""
    from nanscope import _core

    logs = sorted((folder / "run").glob("**/rank-*.log"))
    outcomes = [one for log in logs for one in json.loads(_core.outcomes(log))]
    return [fix for one in outcomes for fix in one.get("fixes", [])]


def plain(folder: Path, source: str, fix: bool = False, arguments: list[str] | None = None) -> Ran:
    """The program by itself."""
    write(folder, source)
    return run(folder, lambda: _execute(arguments), {"FIX": "1"} if fix else {"FIX": ""})


def _execute(arguments: list[str] | None = None) -> int:
    sys.argv = [PROGRAM, *(arguments or [])]
    sys.path.insert(0, "")
    runpy.run_path(PROGRAM, run_name="__main__")
    return 0


def anomaly_line(folder: Path, source: str, arguments: list[str] | None = None) -> int | None:
    """The line that `torch.autograd.set_detect_anomaly(True)` points at; `None` when it says nothing."""
    write(folder, source)

    def action() -> int:
        import torch

        torch.autograd.set_detect_anomaly(True)
        return _execute(arguments)

    ran = run(folder, action, {"FIX": ""})
    if "returned nan values" not in ran.err:
        return None
    forward = ran.err.split("Traceback of forward call that caused the error", 1)
    text = forward[1].split("Traceback (most recent call last)")[0] if len(forward) > 1 else ""
    lines = re.findall(rf'File "[^"]*{re.escape(PROGRAM)}", line (\d+)', text)
    return int(lines[-1]) if lines else 0
