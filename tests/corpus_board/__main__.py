"""`make corpus`: the scoreboard. Exits with 1 when a target is missed or a healthy program raised an alarm."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.corpus_board import tools
from tests.corpus_board.case import Case, load, same_statement
from tests.corpus_board.score import Score, score
from tests.corpus_board.warm import warm

# Share of programs that must be right, over programs with bad values that run in one process.
TARGETS = {"detected": 0.97, "step": 0.95, "phase": 0.90, "line": 0.90}
COLUMNS = ("detected", "step", "phase", "line", "op", "cause")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make corpus")
    parser.add_argument("ids", nargs="*", help="only these cases")
    parser.add_argument("--no-anomaly", action="store_true", help="leave torch's anomaly mode out")
    parser.add_argument("--no-twins", action="store_true", help="leave the FIX=1 twins out")
    parser.add_argument("--keep", type=Path, help="keep the run folders here")
    options = parser.parse_args()
    start = time.perf_counter()
    warm()
    with tempfile.TemporaryDirectory() as temporary:
        board = Board(options.keep or Path(temporary), not options.no_anomaly, not options.no_twins)
        for case in load(options.ids):
            board.run(case)
    return board.close(time.perf_counter() - start)


class Board:
    """The table as it grows."""

    def __init__(self, folder: Path, anomaly: bool, twins: bool) -> None:
        self.folder, self.anomaly, self.twins = folder, anomaly, twins
        self.scores: list[tuple[Case, Score, bool | None]] = []
        self.alarms: list[str] = []
        self.quiet = 0
        print(f"{'case':5} {'truth':28} " + " ".join(f"{c:8}" for c in COLUMNS) + " anomaly  said")

    def run(self, case: Case) -> None:
        if case.healthy:
            self._healthy(case, "healthy", False)
            return
        _, report = tools.watched(self.folder / case.id, case.source)
        result = score(case, report)
        anomaly = None
        if self.anomaly and not case.ranks:
            line = tools.anomaly_line(self.folder / f"{case.id}-anomaly", case.source)
            listed = [*case.truth["lines"], *case.truth.get("cause_lines", [])]
            anomaly = bool(line) and same_statement(case.source, line or 0, listed)
        self.scores.append((case, result, anomaly))
        cells = " ".join(f"{_mark(getattr(result, c)):8}" for c in COLUMNS)
        print(f"{case.id:5} {case.truth['cause']:28} {cells} {_mark(anomaly):8} {result.said}", flush=True)
        if self.twins:
            self._healthy(case, "FIX=1", True)

    def _healthy(self, case: Case, label: str, fix: bool) -> None:
        name = f"{case.id} {label}"
        ran, report = tools.watched(self.folder / name.replace(" ", "-"), case.source, fix=fix)
        if report is not None and report["verdict"] == "finite" and ran.status == 0:
            self.quiet += 1
            return
        origin = (report or {}).get("origin", {})
        what = (
            f"status {ran.status}"
            if report is None
            else f"{report['verdict']} line {origin.get('line')} {report.get('trip')}"
        )
        self.alarms.append(name)
        print(f"{case.id:5} {label}: ALARM {what} {ran.err[-300:]}", flush=True)

    def close(self, seconds: float) -> int:
        """Totals; the exit status."""
        single = [s for s in self.scores if s[0].truth["verdict"] == "nonfinite" and not s[0].ranks]
        groups = (
            ("bad values, one process", single),
            ("several ranks", [s for s in self.scores if s[0].ranks]),
            (
                "no bad value (mismatch, unhealthy)",
                [s for s in self.scores if s[0].truth["verdict"] != "nonfinite" and not s[0].ranks],
            ),
        )
        missed = []
        for title, scores in groups:
            print(f"\n{title}: {len(scores)} programs")
            for column in COLUMNS:
                right, of = _count([getattr(s, column) for _, s, _ in scores])
                print(f"  {column:9} {right:3} of {of:3}" + (f"  {right / of:6.1%}" if of else ""))
                if scores is single and of and column in TARGETS and right / of < TARGETS[column]:
                    missed.append(f"{column} {right}/{of} is below {TARGETS[column]:.0%}")
            right, of = _count([a if s[0].truth.get("line_scored") else None for s in scores for a in [s[2]]])
            print(f"  line, by torch's detect_anomaly {right} of {of}")
        print(
            f"\nhealthy programs and FIX=1 twins: {self.quiet} quiet, {len(self.alarms)} alarms {' '.join(self.alarms)}"
        )
        print(f"{seconds:.0f} s")
        for text in missed:
            print(f"MISSED: {text}")
        return 1 if missed or self.alarms else 0


def _count(values: list[bool | None]) -> tuple[int, int]:
    scored = [v for v in values if v is not None]
    return sum(scored), len(scored)


def _mark(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "NO"


if __name__ == "__main__":
    sys.exit(main())
