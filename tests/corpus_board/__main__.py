"""`make corpus`: the scoreboard. Exits with 1 when a target is missed or a healthy program raised an alarm."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tests.corpus_board import tools
from tests.corpus_board.case import Case, load, same_statement
from tests.corpus_board.score import Score, score
from tests.corpus_board.warm import warm

# Share of programs that must be right, over programs with bad values that run in one process.
TARGETS = {"detected": 0.97, "step": 0.95, "phase": 0.90, "line": 0.90, "fix": 0.75}
COLUMNS = ("detected", "rank", "step", "phase", "line", "op", "cause", "fix")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make corpus")
    parser.add_argument("ids", nargs="*", help="only these cases")
    parser.add_argument("--no-anomaly", action="store_true", help="leave torch's anomaly mode out")
    parser.add_argument("--no-twins", action="store_true", help="leave the FIX=1 twins out")
    parser.add_argument("--fixes", type=Path, help="write the table of fixes here, as Markdown")
    parser.add_argument("--keep", type=Path, help="keep the run folders here")
    options = parser.parse_args()
    start = time.perf_counter()
    warm()
    board = Board()
    with tempfile.TemporaryDirectory() as temporary:
        runner = Runner(options.keep or Path(temporary), not options.no_anomaly, not options.no_twins)
        # Two at a time: a program of this size keeps one core busy. Results come in order.
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            for outcome in pool.map(runner, load(options.ids)):
                board.add(outcome)
    if options.fixes:
        options.fixes.write_text(fix_table(board.scores))
    return board.close(time.perf_counter() - start)


@dataclass(frozen=True)
class Outcome:
    """What one case gave: `score` and `anomaly` for a faulty program, `alarm` for a healthy one or a twin."""

    case: Case
    score: Score | None = None
    anomaly: bool | None = None
    quiet: int = 0
    alarms: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Runner:
    """Runs one case in all its forms; a process of its own calls it."""

    folder: Path
    anomaly: bool
    twins: bool

    def __call__(self, case: Case) -> Outcome:
        if case.healthy:
            return self._healthy(Outcome(case), "healthy", False)
        argv, options = case.truth.get("argv"), case.truth.get("options")
        _, report = tools.watched(self.folder / case.id, case.source, arguments=argv, options=options)
        outcome = Outcome(case, score(case, report, tools.tried(self.folder / case.id)))
        if self.anomaly and not case.ranks:
            line = tools.anomaly_line(self.folder / f"{case.id}-anomaly", case.source, argv)
            listed = [*case.truth["lines"], *case.truth.get("cause_lines", [])]
            outcome = replace(outcome, anomaly=bool(line) and same_statement(case.source, line or 0, listed))
        if self.twins and "FIX" in case.source:
            outcome = self._healthy(outcome, "FIX=1", True)
        return outcome

    def _healthy(self, outcome: Outcome, label: str, fix: bool) -> Outcome:
        case = outcome.case
        folder = self.folder / f"{case.id}-{label}"
        argv, options = case.truth.get("argv"), case.truth.get("options")
        ran, report = tools.watched(folder, case.source, fix=fix, arguments=argv, options=options)
        if report is not None and report["verdict"] == "finite" and ran.status == 0:
            return replace(outcome, quiet=outcome.quiet + 1)
        origin = (report or {}).get("origin", {})
        what = (
            f"status {ran.status}"
            if report is None
            else f"{report['verdict']} line {origin.get('line')} {report.get('trip')}"
        )
        return replace(outcome, alarms=(*outcome.alarms, (f"{case.id} {label}", f"{what} {ran.err[-300:]}")))


class Board:
    """The table as it grows."""

    def __init__(self) -> None:
        self.scores: list[tuple[Case, Score, bool | None]] = []
        self.alarms: list[str] = []
        self.quiet = 0
        print(f"{'case':5} {'truth':28} " + " ".join(f"{c:8}" for c in COLUMNS) + " anomaly  said")

    def add(self, outcome: Outcome) -> None:
        """One more case."""
        case, result = outcome.case, outcome.score
        if result is not None:
            self.scores.append((case, result, outcome.anomaly))
            cells = " ".join(f"{_mark(getattr(result, c)):8}" for c in COLUMNS)
            print(f"{case.id:5} {case.truth['cause']:28} {cells} {_mark(outcome.anomaly):8} {result.said}", flush=True)
        self.quiet += outcome.quiet
        for name, what in outcome.alarms:
            self.alarms.append(name)
            print(f"{name}: ALARM {what}", flush=True)

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


def fix_table(scores: list[tuple[Case, Score, bool | None]]) -> str:
    """Per program with bad values: its cause, the fix that came first, and what it took to find it."""
    lines = [
        "| program | cause | fix | safety | proved | healthy losses | trials | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case, result, _ in scores:
        if case.truth["verdict"] != "nonfinite" or case.ranks:
            continue
        ranked = sorted(result.fixes, key=lambda f: (not f.proved, f.id != result.fix_id))
        best = ranked[0] if ranked and ranked[0].proved else None
        cells = [case.id, case.truth["cause"]]
        cells += [best.id, best.safety, "yes", best.losses] if best else ["", "", "no", ""]
        cells += [str(len(result.fixes)), f"{sum(f.seconds for f in result.fixes):.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _count(values: list[bool | None]) -> tuple[int, int]:
    scored = [v for v in values if v is not None]
    return sum(scored), len(scored)


def _mark(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "NO"


if __name__ == "__main__":
    sys.exit(main())
