"""Gradients that are about to be read while a collective still writes them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from nanscope.capture.recorder import storage_id
from nanscope.replay.names import Names
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

LATE_SECONDS = 0.05  # for a collective that the program may have waited for in a way of its own


def unfinished(watcher: Watcher, optimizer: Any) -> Trip | None:
    """The trip, where the collective of a gradient that `optimizer` is about to read is not over within `LATE_SECONDS`."""
    owners = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    end = time.monotonic() + LATE_SECONDS
    while True:
        first = {key: s for s in reversed(watcher.collectives.unfinished()) for key in s.storages}
        late = [p for p in owners if storage_id(p.grad) in first]
        if not late:
            return None
        if time.monotonic() > end:
            break
        time.sleep(LATE_SECONDS / 50)
    names = Names(watcher.recorder.roots, [optimizer])
    step = watcher.clock.step_of(optimizer)
    trip = Trip(step, "rank", "finite", watcher.keep_tape(), None, None, watcher.calm.loss, optimizer)
    started = first[storage_id(late[0].grad)]
    trip.apart = {
        "kind": "unfinished", "op": f"{started.op}.default", "count": len(late), "of": len(owners),
        "names": [names.of(p) or "a parameter" for p in late],
    }  # fmt: skip
    trip.place = started.place
    return trip
