"""Which fixes are tried, and in which order."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nanscope.fixes.fix import Candidate, families
from nanscope.fixes.site import Site
from nanscope.fixes.source import Unreadable
from nanscope.fixes.trials import Run, Trial, tried
from nanscope.fixes.variant import Variant
from nanscope.outcomes import Outcomes, Text, text

if TYPE_CHECKING:
    from nanscope.again.process import Again

TRIALS_MAX = 16
ENOUGH = 2  # proved fixes of the cause, after which no other is tried
DEPTH_MAX = 3  # edits that may be needed together
FOLLOW_MAX = 2  # second edits tried after a first that has moved the fault
START_SECONDS = 20.0  # a trial may take this and `SLACK` times as long as the run did
SLACK = 5.0


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

    def start(self, site: Site) -> None:
        """Tries what applies to `site` until enough is proved."""
        with contextlib.suppress(Spent):
            for one in candidates(site):
                if self._found and not one.causes:
                    return  # what removes no cause is for want of better
                self._try(site, Variant(), one, 1)

    def _try(self, site: Site, before: Variant, one: Candidate, depth: int) -> bool:
        """Tries `before` and `one`; if that moves the fault elsewhere, what applies there as well. Whether that is proved."""
        try:
            variant = before.then(one)
        except Unreadable:
            return False
        if variant.key in self._done or variant.key == before.key:
            return False
        self._done.add(variant.key)
        trial = self._trial(variant)
        if trial.proved:
            if variant.causes:
                best = trial.attempt["safety"] == "safe" and site.cause in variant.causes
                self._found += ENOUGH if best and depth == 1 else 1
            if self._found >= ENOUGH:
                raise Spent
            return True
        follow = self._follow(site, variant, trial) if depth < DEPTH_MAX and one.causes else None
        if follow is not None:
            more = (c for c in candidates(follow) if c.causes)
            return any(self._try(follow, variant, c, depth + 1) for c in itertools.islice(more, FOLLOW_MAX))
        return False

    def _follow(self, site: Site, variant: Variant, trial: Trial) -> Site | None:
        """Where the fault is now; `None` where it is what it was."""
        if trial.report is None or trial.ledger is None:
            return None
        now = Site(trial.report, json.loads(trial.ledger), site.base, site.foreign, variant.put)
        same = ("phase", "op", "node", "function", "line", "columns")
        if now.entry is None or all(now.origin.get(key) == site.origin.get(key) for key in same):
            return None
        return now

    def _trial(self, variant: Variant) -> Trial:
        left = self._until - time.monotonic()
        if self._trials >= TRIALS_MAX:
            raise Spent
        if left < self._run.seconds:
            self._outcomes.warnings.append(out_of_time(self._run.seconds))
            raise Spent
        self._trials += 1
        trial = tried(self._again, self._run, variant, min(left, START_SECONDS + SLACK * self._run.seconds))
        self._outcomes.fixes.append(trial.attempt)
        return trial


def candidates(site: Site) -> Iterator[Candidate]:
    """All ways to edit the program that apply to a site, best first. A family that cannot read a source offers nothing."""
    for propose in families():
        with contextlib.suppress(Unreadable):
            yield from propose(site)


def out_of_time(took: float) -> Text:
    """Why no other fix was tried."""
    return text(
        f"the time for proofs is used up: a trial takes {took:.0f} s or more; --budget SECONDS gives more",
        f"증명에 쓸 시간을 다 썼습니다: 한 번 실행에 {took:.0f}초 이상 걸립니다; --budget SECONDS로 늘리십시오",
    )
