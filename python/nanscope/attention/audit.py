"""Whether kernels of attention give what their formula gives, in a step that is healthy otherwise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from nanscope.audit import Audit, ledger, played, refused
from nanscope.capture.recomputed import Seen
from nanscope.replay.names import Names
from nanscope.replay.player import Unplayable
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

PAST_MAX = 32  # steps of which the largest logits are remembered


class Kernels(Audit):
    """`past` keeps the largest logit of every call in the steps that were looked at, by line, module and position among equals."""

    where = "kernel"
    what = "attention was"

    def __init__(self, every: int | None, watcher: Watcher) -> None:
        super().__init__(every, watcher)
        self.past: dict[Any, list[tuple[int, Any]]] = {}

    def _compared(self, trip: Trip) -> bool:
        from nanscope.replay.witness import Witness

        watcher = self._watcher
        reason = refused(watcher)
        if reason is not None:
            raise Unplayable(reason)
        start = time.perf_counter()
        names = Names(trip.roots, list(watcher.optimizers))
        witness = Witness(watcher.recorder.empties, watcher.run_folder.info["cwd"], Seen(lambda: None), wide=True)
        witness.shadows = None
        player = played(watcher, trip, names, witness)
        if player.error is not None:
            raise Unplayable("; ".join(player.problems))
        assert witness.attention is not None
        told = ledger(trip, names, player, witness, start)
        witness.tell_attention(told)
        self.recall(told)
        for key, call in keyed(told.get("attention", [])):
            if call.get("heads"):
                largest = max(float(head["largest"]) for head in call["heads"])
                self.past[key] = [*self.past.get(key, []), (trip.step, largest)][-PAST_MAX:]
        if not witness.attention.wrong():
            return False
        told["seconds"] = time.perf_counter() - start
        trip.ledger = told
        return True

    def recall(self, ledger: dict[str, Any]) -> None:
        """Adds to each call of `ledger` what is remembered of it."""
        for key, call in keyed(ledger.get("attention", [])):
            if key in self.past:
                call["past"] = [list(one) for one in self.past[key]]


def keyed(calls: list[dict[str, Any]]) -> list[tuple[Any, dict[str, Any]]]:
    """Calls with what they are known by from step to step."""
    count: dict[Any, int] = {}
    found = []
    for call in calls:
        place = call.get("place") or {}
        at = (place.get("file"), place.get("line"), call.get("module"), call["op"])
        count[at] = count.get(at, 0) + 1
        found.append(((*at, count[at]), call))
    return found
