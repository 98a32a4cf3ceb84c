"""Which fixes are tried, and in which order."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nanscope.fixes.fix import Candidate, families
from nanscope.fixes.foreign import from_program
from nanscope.fixes.site import Site
from nanscope.fixes.source import Unreadable
from nanscope.fixes.trials import Result, Run, judged, run_again, succeeded
from nanscope.fixes.variant import Variant
from nanscope.outcomes import Outcomes, Text, text

if TYPE_CHECKING:
    from nanscope.again.process import Again

TRIALS_MAX = 20
WIDTH_MAX = 10  # single edits that are tried
ENOUGH = 2  # proved fixes of the cause, after which no other is tried
DEPTH_MAX = 4  # edits that may be needed together
FOLLOW_MAX = 2  # second edits tried after a first that has moved the fault
START_SECONDS = 20.0  # a trial may take this and `SLACK` times as long as the run did
SLACK = 5.0
RANK_SECONDS = 10.0  # more for each further rank, which begins on the same machine


class Spent(Exception):
    """Enough was tried, or no time is left."""


class Search:
    """The search for the fixes of one trip, within `budget` seconds."""

    def __init__(self, again: Again, run: Run, outcomes: Outcomes, budget: float) -> None:
        self._again = again
        self._run = run
        self._outcomes = outcomes
        self._until = time.monotonic() + budget
        self._done: set[Any] = set()
        self._trials = 0
        self._found = 0
        self._plain: Result | None = None

    def start(self, site: Site) -> None:
        """Tries what applies to `site` until enough is proved: single edits first; then, where one has moved the fault elsewhere,
        what applies there as well; what removes no cause for want of better."""
        offered = list(candidates(site))
        level = [(site, Variant(), one) for one in offered if one.causes][:WIDTH_MAX]
        with contextlib.suppress(Spent):
            for _ in range(DEPTH_MAX):
                moved = [found for step in level if (found := self._try(site, *step)) is not None]
                if self._found:
                    return
                level = [(now, variant, one) for now, variant in moved for one in followers(now, variant)]
            for one in offered:
                if not one.causes and not self._found:
                    self._try(site, site, Variant(), one)

    def _try(self, first: Site, site: Site, before: Variant, one: Candidate) -> tuple[Site, Variant] | None:
        """Tries `before` and `one`; where the fault is after that, if it has moved."""
        try:
            variant = before.then(one)
        except Unreadable:
            return None
        if variant.key in self._done or variant.key == before.key:
            return None
        self._done.add(variant.key)
        trial = self._trial(variant)
        attempt = judged(self._run, variant, trial, self._control(succeeded(self._run, trial)))
        self._outcomes.fixes.append(attempt)
        if not attempt["proof"]["proved"]:
            now = self._follow(site, variant, trial)
            return None if now is None else (now, variant)
        best = attempt["safety"] == "safe" and first.cause in variant.causes
        self._found += ENOUGH if best or not variant.causes else 1
        if self._found >= ENOUGH:
            raise Spent
        return None

    @staticmethod
    def _follow(site: Site, variant: Variant, trial: Result) -> Site | None:
        """Where the fault is now; `None` where it is what it was."""
        if trial.report is None or trial.ledger is None:
            return None
        now = Site(trial.report, json.loads(trial.ledger), site.base, site.foreign, variant.put, site.since)
        same = ("phase", "op", "node", "function", "line", "columns")
        if now.entry is None or all(now.origin.get(key) == site.origin.get(key) for key in same):
            return None
        return now

    def _trial(self, variant: Variant) -> Result:
        if self._trials >= TRIALS_MAX:
            raise Spent
        self._trials += 1
        return self._ran(variant.put)

    def _ran(self, sources: dict[str, str]) -> Result:
        left, took = self._until - time.monotonic(), self._run.seconds
        if left < took:
            if not self._found:
                self._outcomes.warnings.append(out_of_time(took))
            raise Spent
        return run_again(self._again, self._run, sources, min(left, self._limit()))

    def _limit(self) -> float:
        """Seconds that a trial may take."""
        return START_SECONDS + RANK_SECONDS * (self._run.world - 1) + SLACK * self._run.seconds

    def _control(self, wanted: bool) -> Result | None:
        """The program as it is, run once under the conditions of a trial: what a fix costs is measured against it."""
        if wanted and self._plain is None:
            with contextlib.suppress(Spent):
                self._plain = self._ran({})
        return self._plain


def followers(site: Site, variant: Variant) -> list[Candidate]:
    """What is tried after a variant that has moved the fault to `site`: the same kind of edit first."""
    last = variant.steps[-1].summary
    offered = [one for one in candidates(site) if one.causes]
    return sorted(offered, key=lambda one: one.summary != last)[:FOLLOW_MAX]


def candidates(site: Site) -> Iterator[Candidate]:
    """All ways to edit the program that apply to a site, best first. A family that cannot read a source offers nothing."""
    for one_family in families():
        with contextlib.suppress(Unreadable):
            for one in one_family.propose(site):
                if not any(source.foreign for source, _ in one.edits):
                    yield one
                elif site.program is not None:
                    with contextlib.suppress(Unreadable):
                        yield from_program(one, site.program)


def out_of_time(took: float) -> Text:
    """Why no other fix was tried."""
    return text(
        f"the time for proofs is used up: a trial takes {took:.0f} s or more; --budget SECONDS gives more",
        f"증명에 쓸 시간을 다 썼습니다: 한 번 실행에 {took:.0f}초 이상 걸립니다; --budget SECONDS로 늘리십시오",
    )
