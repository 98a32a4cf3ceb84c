"""Which steps are judged when the next one is made, and what their numbers mean once they have come (`later.py` brings them)."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import TYPE_CHECKING, Any

import torch

from nanscope import _core, signals
from nanscope.device import later
from nanscope.trip import Trip
from nanscope.undo import place_of

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

Tensor = torch.Tensor
BUFFERS_MAX = 10_000  # of which it is known whether they were finite


class Deferred:
    """The step of a watch that is not judged yet, if there is one."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._later: later.Later | None = None
        self._works = True
        self._norm = 0.0  # of the gradients that were last judged here
        self._buffers: dict[
            int, tuple[weakref.ref[Tensor], bool]
        ] = {}  # whether they were finite when they were last read

    def begin(self, optimizer: Any, look: _core.Look, scaled: Any) -> bool:
        """The optimizer is about to step: puts its judgement off, where nothing but the step's own numbers matters and the device
        leaves a bad update out. False, with nothing done, for any other step."""
        watcher = self._watcher
        loss = watcher.device_loss
        if (
            not self._works
            or look.unread is None
            or not watcher.is_plain(optimizer, look.limits)
            or watcher.on_trip == "continue"  # which makes a bad update
            or watcher.peers is not None
            or watcher.audit.seen.any
            or watcher.collectives.works
            or not (loss is None or type(loss[1]) is Tensor)
            or not later.can_wait(optimizer, look)
        ):
            return False
        step, recorder = watcher.clock.step_of(optimizer), watcher.recorder
        try:
            self._later = later.Later(
                optimizer, look, step, loss, list(recorder.changed), self._was_finite, scaled,
                getattr(watcher.scaler, "_scale", None), watcher.loss_scaled, self.gone,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            watcher.warn(f"steps are judged at once, not a step later: {type(error).__name__}: {error}")
            self._works = False
            return False
        watcher.device_loss = None
        if watcher.course.monitor.batch_due(self._norm, recorder):
            watcher.course.monitor.batch(step, recorder)
        return True

    def put_off(self, optimizer: Any) -> bool:
        """The optimizer has stepped; True if that step is to be judged later. All that is known of it is kept until then."""
        watcher, waiting = self._watcher, self._later
        if waiting is None or not waiting.running:
            return False
        waiting.stepped(optimizer)
        waiting.tape, waiting.roots = watcher.keep_tape(), list(watcher.recorder.roots)
        watcher.recorder.earlier = (waiting.tape, waiting.roots)
        loss, lr = watcher.calm.loss, signals.learning_rate(optimizer)
        waiting.record = later.Record(watcher.course.number(optimizer), watcher.calm.end_step(), loss, lr)
        watcher.loss_scaled = False
        watcher.recorder.boundary()
        return True

    def abandon(self) -> None:
        """A step has raised. If it is the one that was put off, nothing is known of it."""
        if self._later is not None and self._later.running:
            optimizer = self._later.optimizer()
            if optimizer is not None:
                self._later.stepped(optimizer)
            self._later = None

    def gone(self) -> None:
        """The optimizer of a step that is not judged yet is gone, and soon its model, or the run ends: nothing of them is kept.
        What the step held goes into the record."""
        with contextlib.suppress(Exception):
            self.settle(judge=False)

    def settle(self, judge: bool = True) -> None:
        """Judges the step before, where that was put off, and writes its record. Raises `Stop`."""
        watcher = self._watcher
        waiting, self._later, watcher.recorder.earlier = self._later, None, None
        if waiting is None or waiting.running:
            return
        try:
            seen = waiting.read()
        except Exception as error:  # noqa: BLE001 - a fault of the device, which the program's own next call tells
            watcher.warn(f"step {waiting.step} was not judged: {type(error).__name__}: {error}")
            return
        record, optimizer = waiting.record, waiting.optimizer()
        if waiting.event is not None:
            waiting.event.value = seen.loss
        trip = self._trip(optimizer, waiting, seen) if judge and optimizer is not None else None
        self._note(seen.buffers)
        if trip is not None:
            watcher.confirm(trip)
        loss, self._norm = record.loss, seen.gradients.norm
        if seen.loss is not None:
            loss = seen.loss / seen.scale if waiting.loss_scaled and seen.scale else seen.loss
        alarm = watcher.observe(
            optimizer, record.number, waiting.step, record.own, loss, None if seen.overflow else seen.gradients,
            seen.scale, seen.left_out, record.lr,
        )  # fmt: skip
        if alarm is not None and judge and optimizer is not None:
            watcher.alarmed(alarm, optimizer, loss)

    def _trip(self, optimizer: Any, waiting: later.Later, seen: later.Read) -> Trip | None:
        gradients, tape = seen.gradients, waiting.tape
        where, kind, tensor = None, waiting.elsewhere.kind, gradients.bad
        if seen.loss is not None and not waiting.is_sound(seen.loss):
            where, kind, tensor = "loss", "nan" if math.isnan(seen.loss) else "inf", waiting.root
        elif tensor is not None and not seen.overflow:
            where = "gradient"
        else:
            bad_now = (b for b, finite in seen.buffers if not finite and self._was_finite(b) is not False)
            buffer = next((b for b in bad_now if not signals.was_bad(b, tape)), None)
            if buffer is not None:
                where, kind, tensor = "buffer", signals.kind_of(buffer), buffer
        if where is None and not seen.left_out and gradients.largest >= signals.GRADIENT_VOUCHED:
            bad = signals.first_bad(signals.optimizer_tensors(optimizer))
            if bad is not None:
                where, kind, tensor = place_of(optimizer, bad), signals.kind_of(bad), bad
                tape.unsafe.append("the update was made before its gradients were read")
        if where is None:
            return None
        trip = Trip(waiting.step, where, kind, tape, tensor, None, seen.loss, optimizer)
        trip.roots, trip.late = waiting.roots, True
        return trip

    # ---- buffers

    def _was_finite(self, buffer: Tensor) -> bool | None:
        """Whether a buffer was finite before this step; `None` where nobody has looked."""
        known = self._buffers.get(id(buffer))
        return known[1] if known is not None and known[0]() is buffer else None

    def _note(self, buffers: list[tuple[Tensor, bool]]) -> None:
        if len(self._buffers) > BUFFERS_MAX:  # those of models that are gone
            self._buffers = {key: known for key, known in self._buffers.items() if known[0]() is not None}
        self._buffers.update((id(buffer), (weakref.ref(buffer), finite)) for buffer, finite in buffers)
