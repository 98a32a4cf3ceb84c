"""Whether kernels of attention give what their formula gives, in a step that is healthy otherwise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from nanscope.audit import ledger, played, refused
from nanscope.capture.recomputed import Seen
from nanscope.replay.names import Names
from nanscope.replay.player import Unplayable
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

PAST_MAX = 32  # steps of which the largest logits are remembered


class Kernels:
    """`every`: steps from one comparison to the next, `None` for none. Each optimizer has its own. `past` keeps the largest logit
    of every call in the steps that were looked at, by line, module and position among equals."""

    def __init__(self, every: int | None, watcher: Watcher) -> None:
        self.every = every
        self.past: dict[Any, list[tuple[int, float]]] = {}
        self._watcher = watcher
        self._next: dict[int, int] = {}  # number of an optimizer -> the step from which on it is due

    def __call__(self, optimizer: Any) -> Trip | None:
        """A step is about to make its update. The trip, if it must not."""
        watcher = self._watcher
        if self.every is None or watcher.diagnosing or (watcher.errand is not None and not watcher.errand.audits):
            return None
        step = watcher.clock.now() if optimizer is None else watcher.clock.step_of(optimizer)
        number = -1 if optimizer is None else watcher.course.number(optimizer)
        if step < self._next.get(number, 0):
            return None
        self._next[number] = step + self.every
        trip = Trip(step, "kernel", "finite", watcher._keep_tape(), None, None, watcher.calm.loss, optimizer)
        trip.roots = list(watcher.recorder.roots)
        watcher.diagnosing = True
        popped = watcher.recorder.enter()
        try:
            return trip if self._compared(trip) else None
        except Unplayable as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            reason = f"{type(error).__name__}: {error}"
        finally:
            watcher.recorder.leave(popped)
            watcher.diagnosing = False
        watcher.run_folder.note(f"step {step}: attention was not compared: {reason}")
        return None

    def _compared(self, trip: Trip) -> bool:
        """Whether a kernel is wrong; then `trip.ledger` says how."""
        from nanscope.replay.witness import Witness

        watcher = self._watcher
        reason = refused(watcher)
        if reason is not None:
            raise Unplayable(reason)
        start = time.perf_counter()
        names = Names(trip.roots, list(watcher.optimizers))
        witness = Witness(watcher.recorder.empties, watcher.run_folder.info["cwd"], Seen(lambda: None))
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
        told["seconds"] = time.perf_counter() - start
        trip.ledger = told
        return bool(witness.attention.wrong())

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
