"""An errand: does the program with a fix get past the step in which it failed?"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

from nanscope.again.errand import Errand
from nanscope.again.joint import joint
from nanscope.stop import Stop

if TYPE_CHECKING:
    from nanscope.trip import Trip
    from nanscope.watcher import Watcher


class Trial(Errand):
    """Lets the run end after step `until`. Its signals are in the run folder, as those of any run; a trip is diagnosed.

    Processes that the program starts are on a `Trial` of their own; the answer is that of all. Those that are not of the `group`
    that failed (see `Children`) are ended by nothing but a trip."""

    audits = True

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        self._spec = spec
        self._until: float = spec["until"]
        self.alarms = spec["alarms"]
        self._trip: dict[str, Any] | None = None
        self._clock: list[int] = []  # nanoseconds of all its threads, at the start of every step

    def of_rank(self, folder: str, number: int) -> Trial:
        group = os.path.basename(folder)
        until = self._until if group == (self._spec.get("group") or group) else math.inf
        answer = os.path.join(self._spec["ranks"], f"{group}-{number}.json")
        return Trial({**self._spec, "until": until, "answer": answer, "ranks": None})

    def at_step(self, watcher: Watcher, step: int) -> None:
        self._clock.append(time.process_time_ns())
        if step > self._until:
            watcher.stopped = True
            raise Stop

    def tripped(self, watcher: Watcher, trip: Trip) -> None:
        if self._trip is None:
            self._trip = {"step": trip.step, "where": trip.where, "kind": trip.kind}
            watcher.report = watcher.diagnosis_of(trip)

    def over(self, watcher: Watcher, how: str, error: BaseException | None) -> None:
        raised = None if error is None else f"{type(error).__name__}: {error}"
        folder = watcher.run_folder
        found = {
            "trip": self._trip,
            "how": how,
            "raised": raised,
            "steps": watcher.clock.completed(),
            "clock": self._clock,
            "rank": folder.rank,
            "log": os.path.join(folder.place, f"rank-{folder.info['rank']}.log"),
        }
        if watcher.report is not None and watcher.diagnosed is not None:
            found |= {"report": watcher.report, "ledger": watcher.diagnosed.ledger}
        ranks = self._spec.get("ranks")
        self.answer(found if ranks is None else joint(found, self._spec, folder.place))
