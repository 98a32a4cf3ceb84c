"""The fixes of a job of several ranks that is over: the whole job is run again with each."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nanscope import _core
from nanscope.fixes.fix import Candidate
from nanscope.fixes.prove import announce, foreign
from nanscope.fixes.search import Search, candidates
from nanscope.fixes.site import Site
from nanscope.fixes.trials import run_of
from nanscope.fixes.variant import Variant
from nanscope.outcomes import Outcomes, Text, text

if TYPE_CHECKING:
    from nanscope.again.process import Again

OFFERED_MAX = 3  # fixes that are shown although nothing was run


@dataclass(frozen=True)
class Job:
    """Where a job has left its logs: `place` is the run folder, `path` the same as the user knows it, `base` what paths in it are
    relative to, `since` when it began, in nanoseconds since the epoch."""

    place: str
    path: str
    base: str
    since: int


def prove(job: Job, report: dict[str, Any], again: Again, budget: float) -> bool:
    """Tries fixes for what `report`, that of all ranks, has found. Returns whether there is something new in the run folder, from
    which the report is to be made anew. An interrupt ends the trials and not the report; neither does a failure of ours."""
    log, outcomes = tried(job, report, again, budget)
    return outcomes is not None and _written(log, outcomes)


def tried(job: Job, report: dict[str, Any], again: Again, budget: float) -> tuple[str | None, Outcomes | None]:
    """The log of the rank that is to blame, and what belongs into it: what was tried. `None` where nothing can be."""
    if "trip" not in report or were_tried(report):
        return None, None
    log, outcomes, site = _site(job, report)
    run = run_of(job.place, report["trip"], job.base, f"nanscope fix {job.path}")
    try:
        announce(run, budget)
        Search(again, run, outcomes, budget).start(site)
    except KeyboardInterrupt:
        outcomes.warnings.append(
            text("fixes were not tried to the end: interrupted", "조치를 끝까지 시험하지 못함: 중단됨")
        )
    except Exception as error:  # noqa: BLE001 - the diagnosis stands without it
        sys.stderr.write(f"nanscope: fixes could not be tried: {type(error).__name__}: {error}\n")
    count = len(outcomes.fixes)
    if count == 0 and not outcomes.warnings:
        outcomes.warnings.append(
            text(
                "no fix was tried: no edit that is known applies here",
                "시험한 조치 없음: 여기에 적용할 수 있는 알려진 수정이 없습니다",
            )
        )
    elif count and not any(one["proof"]["proved"] for one in outcomes.fixes if "proof" in one):
        outcomes.warnings.append(
            text(
                f"no fix is proved: the whole job was run again with {count} edits, and failed with each",
                f"증명된 조치 없음: {count}가지 수정으로 작업 전체를 다시 실행했지만 모두 실패했습니다",
            )
        )
    return log, outcomes


def were_tried(report: dict[str, Any]) -> bool:
    """Whether fixes were run already: while the job waited for one, under `--heal`."""
    return any("proof" in fix for fix in report.get("fixes", []))


def offer(job: Job, report: dict[str, Any]) -> bool:
    """Fixes that apply, none of them run: the job was started by a launcher that is not nanscope's. Returns as `prove` does."""
    if "trip" not in report or were_tried(report):
        return False
    log, outcomes, site = _site(job, report)
    command = f"nanscope fix {job.path} N --prove"
    note = text(
        f"not proved: a launcher has started this job, and one of its ranks cannot start it again; `{command}` proves it",
        f"증명되지 않음: 이 작업은 런처가 시작했으므로 랭크 하나가 다시 시작할 수 없습니다; `{command}`로 증명할 수 있습니다",
    )
    for one in itertools.islice(_of_cause(site), OFFERED_MAX):
        outcomes.fixes.append({**Variant().then(one).plain(), "note": note})
    if not outcomes.fixes:
        outcomes.warnings.append(_unproved())
    return _written(log, outcomes)


def _of_cause(site: Site) -> Any:
    """Candidates that remove the first cause."""
    offered: list[Candidate] = list(candidates(site))
    return (one for one in offered if site.cause in one.causes)


def _unproved() -> Text:
    return text(
        "no fix is proved: a launcher has started this job; `nanscope run --nproc-per-node N` proves fixes",
        "증명된 조치 없음: 이 작업은 런처가 시작했습니다; `nanscope run --nproc-per-node N`은 조치를 증명합니다",
    )


def _site(job: Job, report: dict[str, Any]) -> tuple[str | None, Outcomes, Site]:
    """The log of the rank that is to blame, what was tried on its step already, and where edits may be made."""
    trip = report["trip"]
    log, step, ledger, tried = _core.rank(job.place, trip["rank"])
    told = json.loads(tried) if tried else {}
    outcomes = Outcomes(
        trip["step"] if step is None else step, told.get("experiments", []), told.get("island"), told.get("fixes", []),
        told.get("warnings", []),
    )  # fmt: skip
    found = json.loads(ledger) if ledger else {"entries": []}
    return log, outcomes, Site(report, found, job.base, foreign(), since=job.since)


def _written(log: str | None, outcomes: Outcomes) -> bool:
    if log is None or not outcomes.any():
        return False
    try:
        _core.append_outcomes(log, json.dumps(outcomes.plain()))
    except OSError as error:
        sys.stderr.write(f"nanscope: fixes could not be written to the run folder: {error}\n")
        return False
    return True
