"""What is still open when the program ends: a trip that waits, gradients and a loss that nothing was done with, an error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nanscope import signals
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher


def confirm_open(watcher: Watcher, error: BaseException | None) -> None:
    """Confirms what is open, if anything is; `error` is what the program ended in. Raises `Stop` as a confirmed trip does."""
    recorder = watcher.recorder
    popped = recorder.enter()
    try:
        watcher.deferred.settle()
        if watcher.tripped:
            return
        trip = open_trip(watcher, error)
        if trip is None and watcher.peers is not None:
            trip = watcher.replicas.last(watcher)
        if trip is not None:
            watcher.confirm(trip)
    finally:
        recorder.leave(popped)


def open_trip(watcher: Watcher, error: BaseException | None) -> Trip | None:
    """The first of what may be open."""
    recorder = watcher.recorder
    trip = watcher.pending or watcher.handled
    if trip is None and recorder.backward_done:
        owners = [p for p in watcher._parameters() if p.grad is not None]
        bad = signals.first_bad([g for p in owners if (g := p.grad) is not None])
        if bad is not None and watcher.scaler is None:
            trip = watcher.trip(None, "gradient", bad, next(p for p in owners if p.grad is bad))
    if trip is None and not recorder.backward_done:
        trip = unused_loss(watcher)
    if trip is None and error is not None:
        trip = watcher.audit.refused_by_torch(error)
    if trip is None and isinstance(error, Exception) and recorder.tape.events:
        from nanscope.diagnosis import failing

        raised = Trip(watcher.clock.now(), "output", "nan", watcher.keep_tape(), None, None, watcher.calm.loss)
        raised.roots = list(recorder.roots)
        trip = raised if failing(watcher, raised) else None
    return trip


def unused_loss(watcher: Watcher) -> Trip | None:
    """The program ended (on purpose, perhaps) before it called backward on a loss: was that loss finite?"""
    last = next((e for e in reversed(watcher.recorder.tape.events) if e.scalar), None)
    if last is None:
        return None
    for tensor in watcher.recorder.living(last):
        value = signals.scalar(tensor)
        if value is None or math.isfinite(value):
            return None
    trip = Trip(watcher.clock.now(), "loss", "nan", watcher.keep_tape())
    trip.roots = list(watcher.recorder.roots)
    from nanscope.diagnosis import last_value

    value = last_value(watcher, trip, last)
    if value is None or math.isfinite(value):
        return None
    trip.loss, trip.kind = value, "nan" if math.isnan(value) else "inf"
    trip.event = last
    return trip
