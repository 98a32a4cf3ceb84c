"""The run folder, as Python writes it: every byte goes through Rust."""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from typing import Any

from nanscope import _core


class Folder:
    """One run folder. Raises `OSError` on creation if it cannot be written."""

    def __init__(
        self,
        out: str | None,
        script: str,
        argv: list[str],
        lang: str | None = None,
        module: bool = False,
        part: tuple[int, int, str] | None = None,
    ) -> None:
        """`part` is given for one rank of several, whose folder another process reports on: rank, number of ranks, and the
        working directory that paths are relative to."""
        import torch

        if out is not None and not out.strip():
            raise FileNotFoundError(f"the run folder needs a name, got {out!r}")
        self.path = os.path.join("nanscope-runs", fresh(script)) if out is None else out
        self.lang = _core.locale() if lang is None else lang
        self.place = os.path.abspath(self.path)  # the program may change its working directory
        self.started = time.time_ns()
        self._zero = time.perf_counter_ns()
        self.info: dict[str, Any] = {
            "schema": "nanscope.run/1",
            "script": script,
            "module": module,
            "argv": argv,
            "cwd": os.getcwd() if part is None else part[2],
            "python": platform.python_version(),
            "torch": torch.__version__,
            "nanscope": _core.__version__,
            "devices": _devices(torch),
            "world_size": 1 if part is None else part[1],
            "rank": 0 if part is None else part[0],
            "pid": os.getpid(),
            "started_unix_nanos": self.started,
        }
        self.log: _core.Log | None = _core.Log(self.place, json.dumps(self.info))
        self.closing: dict[str, Any] = {}
        self.is_part = part is not None
        self.rank: int = self.info["rank"]
        self.warnings: list[str] = []
        self.deserted: dict[str, Any] | None = None  # the line at which other ranks did not come to a collective

    def step(self, step: int, watch_nanos: int, loss: float | None, norm: float | None, largest: float | None,
             scale: float | None, lr: float | None, skipped: bool) -> None:  # fmt: skip
        """One record; never raises."""
        if self.log is not None:
            self.log.step(step, watch_nanos, loss, norm, largest, scale, lr, skipped)

    def flush(self) -> None:
        """What other ranks may want to read of this one, should it be ended, is in the file now."""
        if self.log is not None:
            self.log.flush()

    def _write(self, write: Callable[[str], None], text: str) -> None:
        """A disk that is full, or a folder that is gone, costs a record and never the program."""
        try:
            write(text)
        except OSError as error:
            self._lost(str(error))

    def _lost(self, text: str) -> None:
        self.warnings.append(text)
        if sys.stderr is not None and not sys.stderr.closed:
            sys.stderr.write(f"nanscope: {text}\n")

    @property
    def shared(self) -> str:
        """Where the ranks of the job meet."""
        return self.place

    def joined(self, rank: int, world: int) -> None:
        """The process is rank `rank` of `world`; the log keeps its name."""
        self.rank = rank
        self.info.update(world_size=world)

    def trip(self, trip: dict[str, Any]) -> None:
        trip["rank"] = self.rank
        if self.log is not None:
            self._write(self.log.trip, json.dumps(trip))

    def ledger(self, ledger: dict[str, Any]) -> str:
        """Writes the ledger; returns it as JSON."""
        text = json.dumps(ledger)
        if self.log is not None:
            self._write(self.log.ledger, text)
        return text

    def outcomes(self, outcomes: dict[str, Any]) -> str:
        """Writes what was tried after a diagnosis; returns it as JSON."""
        text = json.dumps(outcomes)
        if self.log is not None:
            self._write(self.log.outcomes, text)
        return text

    def skip(self, step: int, place: dict[str, Any] | None) -> None:
        """A `GradScaler` has left an update out."""
        if self.log is not None:
            self._write(self.log.skip, json.dumps({"step": step, **({"place": place} if place else {})}))

    def note(self, text: str) -> None:
        self.warnings.append(text)
        if self.log is not None:
            self._write(self.log.note, text)

    def report(self, report: dict[str, Any]) -> None:
        if self.log is not None and not self.is_part:
            self._write(self.log.write_report, json.dumps(report))

    def report_after(self, report: dict[str, Any]) -> None:
        """Writes a report when the log is closed already."""
        if self.is_part:
            return
        self._write(functools.partial(_core.write_report, self.place), json.dumps(report))

    def merged(self) -> dict[str, Any]:
        """The report of all processes whose logs lie in the folder."""
        found: dict[str, Any] = json.loads(_core.merged(self.place, self.lang))
        return found

    def end(self, how: str, status: int | None, steps: int, watch_seconds: float) -> None:
        """The last record."""
        if self.log is None:
            return
        if self.log.dropped:
            self._lost(f"{self.log.dropped} records could not be written to the run folder")
        self.closing = self.ending(how, status, steps, watch_seconds)
        self._write(self.log.end, json.dumps(self.closing))
        self.log.close()
        self.log = None

    def seconds(self) -> float:
        """Wall-clock seconds since the run began."""
        return (time.perf_counter_ns() - self._zero) / 1e9

    def ending(self, how: str, status: int | None, steps: int, watch_seconds: float) -> dict[str, Any]:
        end: dict[str, Any] = {"how": how, "steps": steps, "seconds": self.seconds(), "watch_seconds": watch_seconds}
        if status is not None:
            end["status"] = status
        if self.deserted is not None:
            end["deserted"] = self.deserted
        return {**end, "warnings": self.warnings}

    def abandon(self) -> None:
        """In a forked child: the file belongs to the parent."""
        self.log = None

    def text(self, report: dict[str, Any], colour: bool) -> str:
        """The report for a terminal."""
        return _core.render(json.dumps(report), colour, folder=self.path, lang=self.lang)


def fresh(script: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", os.path.splitext(os.path.basename(script))[0]) or "run"
    base = f"{time.strftime('%Y%m%d-%H%M%S')}-{stem}"
    name, n = base, 1
    while os.path.exists(os.path.join("nanscope-runs", name)):
        n += 1
        name = f"{base}-{n}"
    return name


def _devices(torch: Any) -> list[str]:
    found = ["cpu"]
    if torch.cuda.is_available():
        found += [f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(torch.cuda.device_count())]
    return found
