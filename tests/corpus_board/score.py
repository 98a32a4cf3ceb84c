"""Compares a report with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.corpus_board.case import Case, same_statement


@dataclass(frozen=True)
class Tried:
    """A fix that was run."""

    id: str
    safety: str
    proved: bool
    losses: str
    seconds: float


@dataclass(frozen=True)
class Score:
    """`None` means: not scored for this case."""

    detected: bool
    step: bool | None = None
    phase: bool | None = None
    line: bool | None = None
    op: bool | None = None
    cause: bool | None = None
    fix: bool | None = None
    rank: bool | None = None
    said: str = ""
    fixes: tuple[Tried, ...] = ()
    fix_id: str = ""


def score(case: Case, report: dict[str, Any] | None, tried: list[dict[str, Any]]) -> Score:
    """The score of one faulty program; `tried` are the fixes that were run, in that order."""
    truth = case.truth
    if report is None or report["verdict"] == "finite":
        line = False if truth.get("line_scored") else None
        return Score(False, False, False, line, False, False, False, _rank(truth, None), "nothing found")
    origin = report.get("origin", {})
    phases = {truth["phase"], *(truth.get("phase_accept") or [])}
    listed = [*truth["lines"], *truth.get("cause_lines", [])]
    line = origin.get("line")
    on_line = line is not None and origin.get("file") == "program.py" and same_statement(case.source, line, listed)
    causes = {truth["cause"], *truth.get("also_accept", [])}
    first = report["causes"][0]["id"] if report.get("causes") else "-"
    step = report.get("trip", {}).get("step")
    fix: dict[str, Any] = next(iter(report.get("fixes", [])), {})
    return Score(
        detected=True,
        step=step in truth["step"],
        phase=origin.get("phase") in phases,
        line=on_line if truth.get("line_scored") else None,
        op=_op(truth.get("op"), origin),
        cause=first in causes,
        fix=fix.get("proof", {}).get("proved", False),
        fix_id=fix.get("id", ""),
        fixes=tuple(
            Tried(
                one["id"],
                one["safety"],
                one["proof"]["proved"],
                one["proof"]["healthy_losses"],
                one["proof"]["seconds"],
            )
            for one in tried
        ),
        rank=_rank(truth, origin.get("rank")),
        said=f"{origin.get('phase')} {origin.get('op', '')} {origin.get('node', '')} :{line} step {step} {first} "
        f"{'' if report.get('replay', {'faithful': True})['faithful'] else 'UNFAITHFUL'} {fix.get('id', '')}",
    )


def _rank(truth: dict[str, Any], found: int | None) -> bool | None:
    """Scored where one rank is to blame."""
    return found == truth["rank"] if "rank" in truth else None


def _op(wanted: str | None, origin: dict[str, Any]) -> bool | None:
    if wanted in (None, "none", "ingest"):
        return None
    if wanted.endswith(("Backward0", "Backward1", "AccumulateGrad")):
        return origin.get("node") == wanted
    return base(origin.get("op", "")) == base(wanted)


def base(op: str) -> str:
    """`log` of `aten.log.default`, `aten::log` and `aten.log_`."""
    parts = op.replace("::", ".").split(".")
    return (parts[1] if len(parts) > 1 else parts[0]).rstrip("_")
