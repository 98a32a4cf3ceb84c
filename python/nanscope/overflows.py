"""Updates that a `GradScaler` leaves out: normal now and then, a trip where they hide something or no scale will ever fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from nanscope import _core, signals
from nanscope.replay.places import place as make_place
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

SCALE_SANE = 1.0  # gradients that overflow at this scale overflow without one


class Overflows:
    """What is known of those in a row."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._inside = False  # the running update is left out inside the optimizer's own kernel
        self._first = self._count = 0
        self._taken: int | None = None  # steps that were taken before the row

    def inside(self, scaled: tuple[torch.Tensor, Any] | None) -> bool:
        """Whether a scaler has told a fused optimizer, as of `later.scaled_by`, to leave the coming update out."""
        self._inside = scaled is not None and bool(scaled[0].item())
        return self._inside

    def stepped(self) -> bool:
        """The optimizer's step has returned: whether its update was left out inside. It counts as none that was taken."""
        inside, self._inside = self._inside, False
        if inside and self._taken is not None:
            self._taken = self._watcher.recorder.steps_taken
        return inside

    def abandon(self) -> None:
        """The running step has raised."""
        self._inside = False

    def seen(self, optimizer: Any) -> None:
        """An update is left out. Raises `Stop` where that is a trip."""
        watcher = self._watcher
        watcher.audit.forget()
        step = watcher.clock.step_of(optimizer)
        if watcher.peers is not None:
            called, base = _core.caller(), watcher.run_folder.info["cwd"]
            watcher.run_folder.skip(step, None if called is None else make_place(*called, base))
        trip, watcher.pending = watcher.pending, None
        trip = trip or watcher.bad_buffer(optimizer)
        if trip is not None:
            trip.step, trip.optimizer = step, optimizer
        else:
            trip = self._collapsing(optimizer, step)
        if trip is not None:
            watcher.confirm(trip)
        watcher.forget_gradients()

    def _collapsing(self, optimizer: Any, step: int) -> Trip | None:
        """Dynamic loss scaling finds a scale that fits within some steps; below 1 it is not the scale that does not fit."""
        watcher = self._watcher
        if self._taken != watcher.recorder.steps_taken:
            self._first, self._count, self._taken = step, 0, watcher.recorder.steps_taken
        self._count += 1
        scale = watcher.scale()
        if self._count < 2 or scale is None or scale > SCALE_SANE:
            return None
        owners = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        bad = signals.first_bad([p.grad for p in owners])
        if bad is None:
            return None
        trip = watcher.trip(optimizer, "gradient", bad, next(p for p in owners if p.grad is bad))
        trip.step, trip.signal = self._first, "scale"
        return trip
