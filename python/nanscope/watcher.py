"""Reads the signals of a running program, decides what is a trip, and acts on it."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
import weakref
from typing import Any

import torch

from nanscope import _core, ending, kept, signals
from nanscope.again.errand import Errand
from nanscope.again.process import Again
from nanscope.attention.audit import Kernels
from nanscope.audit import Recomputation
from nanscope.capture import (
    autograd,
    calls,
    collectives,
    data,
    functions,
    graphs,
    modules,
    optimizers,
    parallel,
    processes,
    profiler,
    recomputed,
    saved,
    scaler,
    swaps,
)
from nanscope.capture.event import Event, Tape
from nanscope.capture.recorder import Recorder
from nanscope.course import MAYBE_MEANT, Course
from nanscope.device import later
from nanscope.distributed import early
from nanscope.distributed.children import Children
from nanscope.distributed.deserted import deserted, let_down
from nanscope.distributed.healing import Whole
from nanscope.distributed.peers import Peers
from nanscope.distributed.replicas import Replicas
from nanscope.folder import Folder
from nanscope.outcomes import Diagnosed
from nanscope.repeat import Repetition
from nanscope.replay import comm
from nanscope.replay.places import place as make_place
from nanscope.stop import Stop
from nanscope.trip import Trip

Tensor = torch.Tensor
SNAPSHOT_MAX_BYTES = 64 << 20  # parameters and state copied before a step that nothing vouches for
SCALE_SANE = 1.0  # gradients that overflow at this scale overflow without one
BUFFERS_MAX = 10_000  # on a device, of which it is known whether they were finite
ATTEMPTS_MAX = 8  # backwards without a step after which a `zero_grad` begins a new tape
_active: Watcher | None = None


class Watcher:
    """One watched run. `start` installs capture, `finish` removes it and writes the end of the run folder."""

    def __init__(
        self,
        *,
        script: str,
        argv: list[str],
        on_trip: str = "stop",
        out: str | None = None,
        diagnose_first: int = 1,
        lang: str | None = None,
        again: Again | None = None,
        errand: Errand | None = None,
        check: str = "once",
        budget: float = 0.0,
        part: tuple[int, int, str] | None = None,
        module: bool = False,
        whole: Whole | None = None,
    ) -> None:
        self.budget = self.budget_left = budget  # seconds for what is tried after a trip
        self.diagnosed: Diagnosed | None = None  # the first trip that was
        self.tried = False  # fixes for it
        module = module or (again is not None and bool(again.spec["module"]))
        self.run_folder = Folder(out, script, argv, lang, module=module, part=part)
        self.folder = self.run_folder.path
        self.on_trip = on_trip
        self.left = diagnose_first
        self.report: dict[str, Any] | None = None
        self.clock = _core.Clock()
        self.recorder = Recorder()
        self.recorder.on_manual_step = self._manual_step
        self.recorder.on_update = self._before_update
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._last_optimizer: weakref.ref[Any] | None = None
        self.scaler: Any = None
        self.pending: Trip | None = None  # a bad loss whose update has not been made yet
        self.handled: Trip | None = None  # one that the program itself has stepped over
        self.diagnosing = False
        self.stopped = False
        self.peers: Peers | None = None  # the other ranks of the job
        self.let_down = False  # ended because another rank has tripped
        self.whole = whole  # how this rank runs the whole job again, where fixes are made while it waits
        alike = {"on_trip": on_trip, "diagnose_first": diagnose_first, "check": check, "lang": self.run_folder.lang}
        if on_trip == "heal" and again is not None:
            alike["whole"] = Whole(again.spec, self.run_folder.place, self.folder, budget, dict(os.environ))
        self.children = Children(self.folder, script, argv, alike, errand)
        self.collectives = collectives.Pending()
        self.collectives.noted = lambda: self.calm.forget()
        self.parallel = parallel.Parallel()
        checks = _core.Checks(check)
        self.replicas = Replicas(checks.ranks, self.parallel)
        self.again = again  # how to run the program once more, where that is possible
        self.errand = errand  # what the program is being run again for
        self._device_loss: tuple[Event, Tensor] | None = None
        self._later: later.Later | None = None  # a step on a device that is not judged yet
        self._waits = True  # where possible
        self._buffers: dict[
            int, tuple[weakref.ref[Tensor], bool]
        ] = {}  # those on a device: finite when they were last read?
        self._loss_scaled = False  # by a GradScaler, in this step
        self._overflow = False  # a GradScaler leaves this update out, inside the optimizer's own kernel
        self._snapshot: list[tuple[Tensor, Tensor]] | None = None
        self._states: dict[Any, Any] = {}
        self._update_left_out: bool | None = None  # decided for this step, after a trip before a manual update
        self.course = Course(self.recorder)
        before, after, self._raised = optimizers.hooks(self.recorder, self)
        self.calm = _core.Calm(  # the hooks around steps in which all is well
            self.recorder, self.course.monitor, self.clock, before, after,
            self._alarmed, signals.GRADIENT_VOUCHED,
        )  # fmt: skip
        self.calm.write_to(self.run_folder.log)
        self.audit = Recomputation(checks.recompute, self)
        self.kernels = Kernels(checks.attention, self)
        self.others = [audit for audit in (self.kernels, Repetition(checks.repeat, self)) if audit.every is not None]
        self._number = 0  # of the last optimizer
        self._skips: list[int] | None = (
            None  # updates that a GradScaler left out in a row: the first, how many, and the
        )
        # number of steps before them
        self._settings: weakref.WeakKeyDictionary[Any, tuple[int, bool]] = (
            weakref.WeakKeyDictionary()
        )  # fingerprint, vouched
        self._norm = 0.0  # of the gradients, when they were last read
        self._gradients: Any = None  # what was last seen of them: _core.Look or signals.Gradients
        self._step_event: Event | None = None
        self._vouched = False
        self._uninstall: list[Any] = []
        self._warned: set[str] = set()
        self._trips = 0
        self._finite: dict[str, Any] | None = None  # of all processes
        self.undiagnosed = 0  # trips after those that were to be diagnosed
        self._pid = os.getpid()

    # ---- on and off

    def start(self) -> None:
        """Installs capture. Raises `RuntimeError` if this process is watched already."""
        global _active
        if _active is not None:
            raise RuntimeError(
                "nanscope: this process is being watched already; end the first watch before starting another"
            )
        _active = self
        recorder = self.recorder
        self._uninstall = [
            functions.install(recorder),
            saved.install(recorder),
            modules.install(recorder, self.module_called),
            calls.install(recorder, self.calm.clipped),
            autograd.install(recorder, self.loss_seen, self.calm),
            optimizers.install(recorder, self, self.calm),
            scaler.install(recorder, self),
            graphs.install(recorder, self._captured),
            data.install(recorder),
            profiler.install(recorder, self._step_raised),
            processes.install(recorder, self.children.hand_over),
            collectives.install(recorder, self, self.collectives),
            swaps.install(recorder),
            parallel.install(recorder, self.parallel),
            recomputed.install(recorder, self.audit.seen),
            kept.install(self.audit.kept),
        ]
        os.register_at_fork(after_in_child=self._in_child)
        self.joined()
        if self.errand is not None:
            self.errand.at_step(self, 0)

    def stop(self) -> None:
        """Removes capture; what was patched is as it was."""
        global _active
        if _active is self:
            _active = None
        self.recorder.closed = True
        if self.errand is not None:
            self.errand.stop()
        for step in reversed(self._uninstall):
            step()
        self._uninstall = []

    def _in_child(self) -> None:
        """A forked process (a worker of a DataLoader, say) is not watched."""
        if _active is self:
            self.stop()
            self.run_folder.abandon()

    # ---- what capture tells

    def module_called(self, event: Event, found: list[Tensor], arguments: Any) -> None:
        """An outermost module has returned without a graph. A model whose outputs are nothing but NaN is a trip: whatever
        the program goes on to do with them, they say nothing. Modules without parameters (metrics, losses) may be undefined.
        """
        if (
            signals.evaluated_nan(found)
            and any(True for _ in event.target.parameters())
            and signals.finite_in(arguments)
        ):
            tape = Tape()
            tape.events = [event]
            tape.originals = self._keep_tape().originals
            trip = Trip(self.clock.now(), "output", "nan", tape, None, type(event.target).__name__)
            trip.roots = [event.target]
            self.confirm(trip)

    def joined(self) -> None:
        """The process may have become one of several ranks."""
        if not comm.ranks() or self.peers is not None:
            return
        distributed = torch.distributed
        started = self.children.folders
        shared = started[-1] if started else self.run_folder.shared
        self.peers = Peers(shared, distributed.get_rank(), distributed.get_world_size())
        self.run_folder.joined(distributed.get_rank(), distributed.get_world_size())
        self.calm.look_at(self.replicas.at)

    def reduced(self, tensors: list[Tensor]) -> None:
        """The program has reduced `tensors` over ranks."""
        self.replicas.reduced(self, tensors)

    def loss_seen(self, event: Event, roots: list[Tensor]) -> None:
        """Backward is about to run. On a CPU the loss is read now, elsewhere together with the gradients."""
        if len(roots) == 1 and self.calm.read_loss(event, roots[0]):
            return
        start = time.perf_counter_ns()
        if len(roots) == 1 and roots[0].numel() == 1:
            root = roots[0]
            if root.is_cpu:
                value = root.item()
                if type(value) is float:
                    self._loss_read(event, root, value)
            else:
                self._device_loss = (event, root.detach())
                self.calm.forget()
        self.calm.spent(time.perf_counter_ns() - start)

    def _loss_read(self, event: Event, root: Tensor, value: float) -> None:
        unscaled = self.calm.unscaled
        event.value = value
        self.calm.loss = value if unscaled is None else unscaled
        if not math.isfinite(value) and self.pending is None:
            # Under a GradScaler an infinite scaled loss may be a finite loss times the scale.
            if not (math.isinf(value) and unscaled is not None and math.isfinite(unscaled)):
                kind = "nan" if math.isnan(value) else "inf"
                self.pending = Trip(self.clock.now(), "loss", kind, self._keep_tape(), root, None, value)
                self.pending.roots = list(self.recorder.roots)
                self.calm.forget()

    def scaled(self, scaler: Any, outputs: Any = None) -> None:
        """A GradScaler is in use: infinite gradients are its business."""
        if self.scaler is not scaler:
            self.scaler = scaler
            self.calm.forget()
            self.calm.scaled_by(scaler)
        self._loss_scaled = True
        if isinstance(outputs, Tensor):
            self.calm.read_unscaled(outputs)

    def zeroed(self) -> None:
        """Gradients are thrown away without a step: the program has handled this attempt itself."""
        recorder = self.recorder
        if self.pending is None and recorder.backwards <= ATTEMPTS_MAX:
            return
        self.audit.forget()
        tape = recorder.cut()
        if self.pending is not None:
            self.pending.tape = tape
            self.handled, self.pending = self.pending, None
            self.calm.forget()

    def before_step(self, optimizer: Any) -> bool:
        """Returns True to leave the update out. Raises `Stop`."""
        start = time.perf_counter_ns()
        recorder = self.recorder
        self._turn_to(optimizer)
        self.settle()
        look = _core.look(optimizer.param_groups)
        scaled = later.scaled_by(optimizer)
        if self._can_wait(optimizer, look) and self._wait(optimizer, look, scaled):
            self.calm.spent(time.perf_counter_ns() - start)
            return False
        gradients = self._gradients = self._read(optimizer, look, scaled)
        if self.course.monitor.batch_due(gradients.norm, recorder):
            self.course.monitor.batch(self.clock.step_of(optimizer), recorder)
        self._overflow = scaled is not None and bool(scaled[0].item())
        if self._overflow:
            self._vouched = True
            self.calm.spent(time.perf_counter_ns() - start)
            self._overflowed(optimizer)
            return False
        trip = None
        if self.pending is not None:
            trip, self.pending = self.pending, None
            trip.step = self.clock.step_of(optimizer)
        elif (owner := gradients.bad) is not None and owner.grad is not None:
            trip = self._trip("gradient", optimizer, owner.grad, owner)
        elif recorder.changed:
            trip = self._bad_buffer(optimizer)
        if trip is None and self.audit.seen.any:
            trip = self.audit(optimizer)
        for audit in self.others:
            trip = trip or audit(optimizer)
        if trip is None and self.collectives.works:
            trip = early.unfinished(self, optimizer)
        if trip is None and self.peers is not None:
            trip = self.replicas(self, optimizer, gradients.norm)
        if trip is not None:
            self.calm.spent(time.perf_counter_ns() - start)
            trip.optimizer = optimizer
            leave_out = self.confirm(trip)
            if leave_out and (trip.apart is None or trip.apart["kind"] == "unfinished"):
                return True
            start = time.perf_counter_ns()
        if self.errand is not None:
            self.errand.updating(self, optimizer)
        known = self._settings.get(optimizer)
        if known is not None and known[0] == gradients.limits:
            self._vouched = known[1] and gradients.largest < signals.GRADIENT_VOUCHED
        else:
            self._vouched = self._vouch(optimizer, gradients, known is None)
        if not self._vouched:
            self._step_event = recorder.event("step", optimizer, random=True)
            self._take_snapshot(optimizer)
        if self.errand is not None and self.errand.tracing():
            recorder.tell(recorder.event("step", optimizer), (), {})
        self.calm.spent(time.perf_counter_ns() - start)
        return False

    def _turn_to(self, optimizer: Any) -> None:
        if self._last_optimizer is None or self._last_optimizer() is not optimizer:
            self._last_optimizer = weakref.ref(optimizer)
            self.optimizers.add(optimizer)
            self._number = self.course.number(optimizer)

    def _read(self, optimizer: Any, look: _core.Look, scaled: Any) -> Any:
        """What is known of the gradients, and of a loss that was not read yet. Waits for the device where they lie on one."""
        waiting, self._device_loss = self._device_loss, None
        if waiting is None and not look.unread and scaled is None:
            return look
        elsewhere, value = later.now(optimizer, look, None if waiting is None else waiting[1])
        if waiting is not None and value is not None:
            self._loss_read(*waiting, value)
        factor = 1.0 if scaled is None or scaled[1] is None else scaled[1].item()
        return signals.Gradients(look, elsewhere, factor)

    # ---- steps that are judged later

    def _can_wait(self, optimizer: Any, look: _core.Look) -> bool:
        """Whether a step on a device can be judged when the next one is made: nothing but its own numbers matters, and the device
        leaves a bad update out."""
        return (
            self._waits
            and look.unread is not None
            and self._settings.get(optimizer) == (look.limits, True)
            and self._number not in self.course._carries
            and self.on_trip != "continue"  # which makes a bad update
            and self.pending is None
            and self.handled is None
            and self.peers is None
            and self.errand is None
            and not (self.audit.seen.any or self.audit.every or self.others)
            and not self.collectives.works
            and (self._device_loss is None or type(self._device_loss[1]) is Tensor)
            and later.can_wait(optimizer, look)
        )

    def _wait(self, optimizer: Any, look: _core.Look, scaled: Any) -> bool:
        """False, with nothing done, where that does not work after all."""
        recorder = self.recorder
        step = self.clock.step_of(optimizer)
        try:
            self._later = later.Later(
                optimizer, look, step, self._device_loss, list(recorder.changed), self._was_finite, scaled,
                getattr(self.scaler, "_scale", None), self._gone,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            self.warn(f"steps are judged at once, not a step later: {type(error).__name__}: {error}")
            self._waits = False
            return False
        self._device_loss = self._gradients = self._step_event = None
        self._vouched = True
        if self.course.monitor.batch_due(self._norm, recorder):
            self.course.monitor.batch(step, recorder)
        return True

    def _was_finite(self, buffer: Tensor) -> bool | None:
        """Whether a buffer on a device was finite before this step; `None` where nobody has looked."""
        known = self._buffers.get(id(buffer))
        return known[1] if known is not None and known[0]() is buffer else None

    def _gone(self) -> None:
        """The optimizer of a step that is not judged yet is gone, and soon its model: nothing of them is kept. What the step held
        goes into the record."""
        with contextlib.suppress(Exception):
            self.settle(judge=False)

    def settle(self, judge: bool = True) -> None:
        """Judges the step before, where that was put off, and writes its record. Raises `Stop`."""
        waiting, self._later, self.recorder.earlier = self._later, None, None
        if waiting is None or waiting.running:
            return
        try:
            seen = waiting.read()
        except Exception as error:  # noqa: BLE001 - a fault of the device, which the program's own next call tells
            self.warn(f"step {waiting.step} was not judged: {type(error).__name__}: {error}")
            return
        record, optimizer = waiting.record, waiting.optimizer()
        if waiting.event is not None:
            waiting.event.value = seen.loss
        trip = self._late_trip(waiting, seen) if judge and optimizer is not None else None
        if len(self._buffers) > BUFFERS_MAX:  # those of models that are gone
            self._buffers = {key: known for key, known in self._buffers.items() if known[0]() is not None}
        self._buffers.update((id(buffer), (weakref.ref(buffer), finite)) for buffer, finite in seen.buffers)
        if trip is not None:
            self.confirm(trip)
        loss, self._norm = record.loss, seen.gradients.norm
        if seen.loss is not None:
            loss = seen.loss / seen.scale if record.scaled and seen.scale else seen.loss
        alarm = self._observe(
            optimizer, record.number, waiting.step, record.own, loss, None if seen.overflow else seen.gradients,
            seen.scale, seen.left_out, record.lr,
        )  # fmt: skip
        if alarm is not None and judge and optimizer is not None:
            self._alarmed(alarm, optimizer, loss)

    def _late_trip(self, waiting: later.Later, seen: later.Read) -> Trip | None:
        optimizer, gradients, tape = waiting.optimizer(), seen.gradients, waiting.tape
        where, kind, tensor = None, waiting.elsewhere.kind, gradients.bad
        if seen.loss is not None and not math.isfinite(seen.loss):
            where, kind, tensor = "loss", "nan" if math.isnan(seen.loss) else "inf", waiting.root
        elif tensor is not None and not seen.overflow:
            where = "gradient"
        else:
            bad_now = (b for b, finite in seen.buffers if not finite and self._was_finite(b) is not False)
            buffer = next((b for b in bad_now if not self._was_bad(b, tape)), None)
            if buffer is not None:
                where, kind, tensor = "buffer", signals.kind_of(buffer), buffer
        if where is None and not seen.left_out and gradients.largest >= signals.GRADIENT_VOUCHED:
            bad = signals.first_bad(signals.optimizer_tensors(optimizer))
            if bad is not None:
                where, kind, tensor = self._place_of(optimizer, bad), signals.kind_of(bad), bad
                tape.unsafe.append("the update was made before its gradients were read")
        if where is None:
            return None
        trip = Trip(waiting.step, where, kind, tape, tensor, None, seen.loss, optimizer)
        trip.roots, trip.late = waiting.roots, True
        return trip

    # ---- steps

    def _vouch(self, optimizer: Any, gradients: Any, first: bool) -> bool:
        """`signals.vouched`, looked at again only when a setting has changed."""
        vouched = signals.vouched(optimizer)
        self._settings[optimizer] = (gradients.limits, vouched)
        if first and optimizer.state:
            return False  # state that was loaded: nothing is known of it before its first use
        return vouched and gradients.largest < signals.GRADIENT_VOUCHED

    def loaded(self, optimizer: Any) -> None:
        """The state of an optimizer was replaced."""
        self._settings.pop(optimizer, None)
        self.calm.forget()

    def after_step(self, optimizer: Any, skipped: bool) -> None:
        """The update was made, or left out."""
        start = time.perf_counter_ns()
        recorder = self.recorder
        recorder.count_step()
        if self._overflow:
            skipped, self._overflow = True, False
            if self._skips is not None:
                self._skips[2] = recorder.steps_taken  # it has taken none
        if not skipped and not self._vouched:
            bad = signals.first_bad(signals.optimizer_tensors(optimizer))
            if bad is not None:
                self.calm.spent(time.perf_counter_ns() - start)
                self._update_was_bad(optimizer, self.clock.step_of(optimizer), bad)
                start = time.perf_counter_ns()
        self._end_step(optimizer, skipped, start)

    def _step_raised(self) -> None:
        """An optimizer's step has ended in an exception. The program may catch it and go on: the tape goes on with it."""
        self._overflow = False
        optimizer = None if self._last_optimizer is None else self._last_optimizer()
        if self._later is not None and self._later.running and optimizer is not None:
            self._later.stepped(optimizer)
            self._later = None
        if not self.calm.abandon():
            self._raised()

    def left_out(self, optimizer: Any) -> None:
        """`GradScaler.step` has left the update out; the step is over all the same."""
        start = time.perf_counter_ns()
        self._turn_to(optimizer)
        self.settle()
        self._overflowed(optimizer)
        self._end_step(optimizer, True, start)

    def _overflowed(self, optimizer: Any) -> None:
        """A GradScaler leaves the update out. Raises `Stop` if it hides something."""
        self.audit.forget()
        step = self.clock.step_of(optimizer)
        if self.peers is not None:
            called = _core.caller()
            self.run_folder.skip(step, None if called is None else make_place(*called, self.run_folder.info["cwd"]))
        trip, self.pending = self.pending, None
        trip = trip or self._bad_buffer(optimizer)
        if trip is not None:
            trip.step, trip.optimizer = step, optimizer
        else:
            trip = self._collapsing(optimizer, step)
        if trip is not None:
            self.confirm(trip)
        self._gradients = None
        self.handled = None

    def _collapsing(self, optimizer: Any, step: int) -> Trip | None:
        """Dynamic loss scaling finds a scale that fits within some steps; below 1 it is not the scale that does not fit."""
        taken = self.recorder.steps_taken
        if self._skips is None or self._skips[2] != taken:
            self._skips = [step, 0, taken]
        self._skips[1] += 1
        scale = self.scale()
        if self._skips[1] < 2 or scale is None or scale > SCALE_SANE:
            return None
        owners = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        bad = signals.first_bad([p.grad for p in owners])
        if bad is None:
            return None
        owner = next(p for p in owners if p.grad is bad)
        trip = self._trip("gradient", optimizer, bad, owner)
        trip.step, trip.signal = self._skips[0], "scale"
        return trip

    def _end_step(self, optimizer: Any, skipped: bool, start: int) -> None:
        gradients = self._gradients
        step = self.clock.stepped(optimizer)
        self._snapshot = self._step_event = None
        self._states = {}
        if not skipped:
            self.handled = None
        self.calm.spent(time.perf_counter_ns() - start)
        scale = None if self.scaler is None else self.scale()
        if self._later is not None and self._later.running:
            self._put_off(self._later, optimizer)
            return
        loss = self.calm.loss
        alarm = self._observe(optimizer, self._number, step, self.calm.end_step(), loss, gradients, scale, skipped)
        if alarm is not None:
            self._alarmed(alarm, optimizer, loss)
        self._norm = self._norm if gradients is None else gradients.norm
        self._loss_scaled = False
        self.recorder.boundary()
        self._learn(optimizer, gradients)
        if self.errand is not None:
            self.errand.at_step(self, self.clock.now())

    def _put_off(self, waiting: later.Later, optimizer: Any) -> None:
        """The update was made; all that is known of the step goes to where it is judged."""
        waiting.stepped(optimizer)
        waiting.tape, waiting.roots = self._keep_tape(), list(self.recorder.roots)
        self.recorder.earlier = (waiting.tape, waiting.roots)
        loss, lr = self.calm.loss, signals.learning_rate(optimizer)
        waiting.record = later.Record(self._number, self.calm.end_step(), loss, lr, self._loss_scaled)
        self._loss_scaled = False
        self.recorder.boundary()

    def _learn(self, optimizer: Any, gradients: Any) -> None:
        """The next steps of an optimizer need no closer look while nothing changes."""
        quiet = self.pending is None and self.handled is None and self._device_loss is None
        fused = getattr(optimizer, "_step_supports_amp_scaling", False)  # a scaler tells it what to do in attributes
        known = self._settings.get(optimizer)
        if (
            quiet
            and (self.scaler is None or not fused)
            and self.errand is None
            and not self.audit.every
            and not self.others
            and type(gradients) is _core.Look
            and known == (gradients.limits, True)
            and self._number not in self.course._carries
        ):
            self.calm.know(optimizer, gradients.limits, self._number)

    def _observe(
        self,
        optimizer: Any,
        number: int,
        step: int,
        own: int,
        loss: float | None,
        gradients: Any,
        scale: float | None,
        skipped: bool,
        lr: float | None = None,
    ) -> _core.Alarm | None:
        """Writes the record of a step, and asks the monitor."""
        course = self.course
        carried = bool(course._carries) and course.carried(number, optimizer)
        log = self.run_folder.log
        if type(gradients) is _core.Look:
            return course.monitor.step(log, step, own, number, loss, gradients, scale, skipped, carried)
        lr = signals.learning_rate(optimizer) if lr is None and optimizer is not None else lr
        if gradients is None:  # a GradScaler has left the update out: nobody looked
            self.run_folder.step(step, own, loss, None, None, scale, lr, skipped)
            return course.monitor.observe(step, number, loss, lr=lr, scale=scale, skipped=skipped)
        self.run_folder.step(step, own, loss, gradients.norm, gradients.largest, scale, lr, skipped)
        groups = [math.sqrt(x) for x in gradients.squares]
        return course.monitor.observe(
            step, number, loss, gradients.norm, gradients.largest, groups, gradients.gradients, gradients.zeros,
            lr, scale, skipped, carried,
        )  # fmt: skip

    def _alarmed(self, alarm: _core.Alarm, optimizer: Any, loss: float | None) -> None:
        """Something shows over several steps. What the program may want is told, and ends no run."""
        if self.diagnosing or self._trips:
            return
        trip = Trip(alarm.seen, "trend", "finite", self._keep_tape(), None, None, loss, optimizer)
        trip.roots = list(self.recorder.roots)
        trip.alarm = alarm
        if alarm.kind in MAYBE_MEANT and not (self.errand is not None and self.errand.alarms):
            sys.stderr.write(f"nanscope: {alarm.kind} since step {alarm.step}: see the report at the end\n")
            self._tell(trip)
        else:
            self.confirm(trip)

    def _tell(self, trip: Trip) -> None:
        """Diagnoses without acting; a later trip takes the place of the report."""
        self.diagnosing = True
        popped = self.recorder.enter()
        try:
            self.report = self.diagnosis_of(trip)
        finally:
            self.recorder.leave(popped)
            self.diagnosing = False

    def scale(self) -> float | None:
        """Factor of the GradScaler in use, where it can be read without waiting for a device."""
        scale = getattr(self.scaler, "_scale", None)
        return float(scale) if scale is not None and scale.device.type == "cpu" else None

    def _before_update(self) -> bool:
        """The program is about to change a parameter itself. Returns True to leave that out."""
        if self._update_left_out is not None:
            return self._update_left_out
        recorder = self.recorder
        popped = recorder.enter()
        try:
            trip, self.pending = self.pending, None
            if trip is None:
                owner = recorder.updated[-1]
                if owner.grad is not None and signals.first_bad([owner.grad]) is not None:
                    trip = self._trip("gradient", None, owner.grad, owner)
            if trip is None and self.audit.seen.any:
                trip = self.audit(None)
            for audit in self.others:
                trip = trip or audit(None)
            if trip is not None:
                self._update_left_out = self.confirm(trip)
                return self._update_left_out
            if self.errand is not None:
                self.errand.updating(self, None)
        finally:
            recorder.leave(popped)
        return False

    def _manual_step(self) -> None:
        """The program has changed its parameters without an optimizer, and now begins the next forward."""
        self.settle()
        updated = list(self.recorder.updated)
        bad = signals.first_bad([u.detach() for u in updated])
        trip, self.pending = self.pending, None
        step = self.clock.now()
        if trip is None and bad is not None and self._update_left_out is None:
            owner = next(u for u in updated if signals.kind_of(u) != "finite")
            trip = self._trip("parameter", None, owner, owner)
        if trip is not None:
            self.confirm(trip)
        self._gradients = None
        self.clock.stepped(self)
        self.recorder.boundary()
        self.collectives.unfinished()  # lets go of those that are over
        self._update_left_out = None
        loss = self.calm.loss
        self.run_folder.step(step, self.calm.end_step(), loss, None, None, self.scale(), None, False)
        if self.errand is not None:
            self.errand.at_step(self, self.clock.now())

    def _captured(self) -> None:
        called = _core.caller()
        line = "" if called is None else f" ({make_place(*called, self.run_folder.info['cwd'])['file']}:{called[2]})"
        self.warn(f"a CUDA graph was captured{line}: steps that it replays are not watched")

    # ---- trips

    def _keep_tape(self) -> Tape:
        """The present tape, for a trip: the next step gets a new one."""
        self.recorder.kept = True
        return self.recorder.tape

    def _trip(self, where: str, optimizer: Any, tensor: Tensor, owner: Tensor | None) -> Trip:
        step = self.clock.now() if optimizer is None else self.clock.step_of(optimizer)
        trip = Trip(step, where, signals.kind_of(tensor), self._keep_tape(), owner, None, self.calm.loss, optimizer)
        trip.roots = list(self.recorder.roots)
        return trip

    def _bad_buffer(self, optimizer: Any) -> Trip | None:
        """Running statistics and the like that this step has made bad."""
        changed = self.recorder.changed
        if not changed:
            return None
        bad = signals.first_bad(changed)
        if bad is None or self._was_bad(bad, self.recorder.tape):
            return None
        return self._trip("buffer", optimizer, bad, bad)

    def _was_bad(self, buffer: Tensor, tape: Tape) -> bool:
        """True when the buffer was not finite before this step already (an observer's initial range, an unfilled memory)."""
        for event in tape.events:
            for tensor, copy in event.state.buffers if event.state is not None else ():
                if tensor is buffer:
                    return signals.kind_of(copy) != "finite"
        return False

    def _take_snapshot(self, optimizer: Any) -> None:
        tensors = signals.optimizer_tensors(optimizer)
        if sum(t.numel() * t.element_size() for t in tensors) <= SNAPSHOT_MAX_BYTES:
            self._snapshot = [(t, t.detach().clone()) for t in tensors]
            self._states = {p: dict(s) for p, s in optimizer.state.items()}

    def _update_was_bad(self, optimizer: Any, step: int, bad: Tensor) -> None:
        """The optimizer itself has made a parameter or its state bad: undo the step, then run it again under observation."""
        kind = signals.kind_of(bad)
        trip = Trip(
            step,
            self._place_of(optimizer, bad),
            kind,
            self._keep_tape(),
            bad,
            None,
            self.calm.loss,
            optimizer,
            self._step_event,
        )
        trip.roots = list(self.recorder.roots)
        after = [(t, t.detach().clone()) for t in signals.optimizer_tensors(optimizer)]
        states = {p: dict(s) for p, s in optimizer.state.items()}
        if self._snapshot is not None:
            self._restore_before_step(optimizer)
            trip.last = self._step_event
        else:
            trip.tape.unsafe.append("the parameters before the step were too large to keep")
            trip.last = None
        left_out = self.confirm(trip)
        if not left_out:
            with torch.no_grad():
                optimizer.state.clear()
                optimizer.state.update(states)
                for tensor, copy in after:
                    tensor.copy_(copy)

    @staticmethod
    def _place_of(optimizer: Any, bad: Tensor) -> str:
        return "parameter" if any(bad is p for g in optimizer.param_groups for p in g["params"]) else "state"

    def _restore_before_step(self, optimizer: Any) -> None:
        with torch.no_grad():
            for tensor, copy in self._snapshot or ():
                tensor.copy_(copy)
        optimizer.state.clear()
        optimizer.state.update(self._states)

    def confirm(self, trip: Trip) -> bool:
        """Harm is about to be done: diagnose and act. Returns True to leave the update out; raises `Stop`."""
        if self.diagnosing:
            return False
        self._trips += 1
        alike = (
            self.peers is None or not comm.ranks()
        )  # alone, or all ranks have tripped here: the update may be left out
        if self._trips <= self.left or self.on_trip in ("stop", "heal"):
            self.diagnosing = True
            popped = self.recorder.enter()
            try:
                if self.peers is not None and (trip.apart or trip.alarm):
                    self.peers.announce(trip.step)
                elif self.peers is not None and comm.ranks():
                    # A tensor function talks to nobody; ranks may differ in those.
                    calls = [
                        f"{event.kind} {getattr(event.target, '__name__', type(event.target).__name__)}"
                        for event in trip.tape.events if event.kind != "function"
                    ]  # fmt: skip
                    decided = self.peers.meet(trip.step, calls, self._step_seconds())
                    trip.together, alike = decided.together, decided.all
                if self.errand is not None:
                    self.errand.tripped(self, trip)
                else:
                    self.report = self.diagnosis_of(trip)
            finally:
                self.recorder.leave(popped)
                self.diagnosing = False
        else:
            self.run_folder.trip(trip.plain())
            self.undiagnosed += 1
            if self.peers is not None and not alike and self.on_trip == "skip" and trip.apart is None:
                alike = self.peers.meet(trip.step, [], self._step_seconds()).all
        if self.on_trip == "stop" or (self.on_trip == "heal" and not (alike and self._heal())):
            self.stopped = True
            raise Stop
        if self.on_trip == "skip" and not alike:
            self.warn(
                f"step {trip.step}: the update was made, since other ranks made it; left out on one rank, ranks come apart"
            )
        return self.on_trip in ("skip", "heal") and alike

    def _step_seconds(self) -> float:
        """How long a step has taken so far."""
        return self.run_folder.seconds() / max(self.clock.completed(), 1)

    def _heal(self) -> bool:
        """Makes the best proved fix in memory; the run ends where there is none."""
        from nanscope.distributed import healing
        from nanscope.fixes.heal import heal

        self.diagnosing = True
        popped = self.recorder.enter()
        try:
            return heal(self) if self.peers is None else healing.heal(self)
        finally:
            self.recorder.leave(popped)
            self.diagnosing = False

    def diagnosis_of(self, trip: Trip) -> dict[str, Any]:
        """The report; if nanscope itself fails, one that says so and holds the trip."""
        from nanscope.diagnosis import diagnose, undiagnosed

        try:
            return diagnose(self, trip)
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            return undiagnosed(self, trip, error)

    # ---- the end

    def finish(self, how: str, status: int | None = None, error: BaseException | None = None) -> None:
        """Confirms what is still open, removes capture, closes the run folder."""
        try:
            if self.peers is not None:
                self.run_folder.deserted = deserted(error, self.run_folder.info["cwd"])
            self.let_down = how != "stopped" and error is not None and let_down(self, error)
            if self.let_down:
                how = "stopped"
            elif how != "stopped" and os.getpid() == self._pid:
                ending.confirm_open(self, error)
        except Stop:
            how = "stopped"
        finally:
            popped = self.recorder.enter()
            self._gone()  # what was not judged is in the record all the same
            self.recorder.leave(popped)
            self.stop()
            if not self.children.any():
                self.proved()
            self.run_folder.end(how, status, self.clock.completed(), self.own_seconds())
            if self.report is not None and self.undiagnosed:
                self.report.setdefault("warnings", []).append(f"{self.undiagnosed} more trips were not diagnosed")
                self.run_folder.report_after(self.report)
            elif self.report is not None and not self._trips:  # told on the way, and the run went on
                self.report["run"].update(steps=self.clock.completed(), seconds=self.run_folder.seconds())
                self.run_folder.report_after(self.report)
            if self.report is None and os.getpid() == self._pid:
                self.run_folder.report_after(self.finite_report())
            if self.peers is not None and how == "stopped" and os.getpid() == self._pid:
                self.peers.leave()
            if os.getpid() == self._pid:
                self.children.close()
                if self.children.any():
                    self.tell_all()
                    self._prove_job()

    @property
    def tripped(self) -> bool:
        """Whether something was found."""
        return self._trips > 0

    def tell_all(self) -> None:
        """The report is that of all processes from now on."""
        merged = self.run_folder.merged()
        self.run_folder.is_part = False  # of the whole, this process writes it
        self.run_folder.report_after(merged)
        self.report = None if merged["verdict"] == "finite" else merged
        self._finite = merged

    def proved(self) -> bool:
        """Tries fixes for the trip that was diagnosed, where that is possible. Returns whether there is something new to tell."""
        if self.diagnosed is None or self.tried or os.getpid() != self._pid:
            return False
        self.tried = True
        from nanscope.fixes.prove import proved

        return proved(self)

    def _prove_job(self) -> None:
        """Tries fixes for what the processes of this program have found."""
        if self.report is None or self.again is None or self.budget <= 0:
            return
        from nanscope.fixes.job import Job, prove

        folder = self.run_folder
        job = Job(folder.place, folder.path, folder.info["cwd"], folder.started)
        if prove(job, self.report, self.again, self.budget):
            self.tell_all()

    def _parameters(self) -> list[Tensor]:
        found: dict[int, Tensor] = {}
        for root in self.recorder.roots:
            found.update((id(p), p) for p in root.parameters())
        for optimizer in self.optimizers:
            found.update((id(p), p) for g in optimizer.param_groups for p in g["params"])
        for tensor, _ in self.recorder.tape.held.values():
            if tensor.is_leaf and tensor.requires_grad:
                found[id(tensor)] = tensor
        return list(found.values())

    def finite_report(self) -> dict[str, Any]:
        """The report of a run in which nothing was found."""
        import json

        if self._finite is not None:
            return self._finite
        folder = self.run_folder
        report: dict[str, Any] = json.loads(
            _core.diagnose(json.dumps(folder.info), None, None, json.dumps(folder.closing))
        )
        return report

    def summary(self) -> str:
        """One line for a run in which nothing was found."""
        from nanscope.run import finished

        steps = self.clock.completed() if self._finite is None else self._finite["run"]["steps"]
        return finished(steps, self.folder, self.run_folder.lang)

    def text(self, colour: bool) -> str:
        """The report for a terminal."""
        return self.run_folder.text(self.report, colour) if self.report is not None else ""

    def own_seconds(self) -> float:
        """Seconds spent in nanscope so far, replays not counted."""
        return self.calm.total_nanos / 1e9

    def warn(self, text: str) -> None:
        """Says something once, on stderr and in the run folder. Never raises into the loop."""
        if text not in self._warned:
            self._warned.add(text)
            self.run_folder.note(text)
            sys.stderr.write(f"nanscope: {text}\n")
