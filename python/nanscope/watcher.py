"""Reads the signals of a running program, decides what is a trip, and acts on it."""

from __future__ import annotations

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
    tracing,
)
from nanscope.capture.event import Event, Tape
from nanscope.capture.recorder import Recorder
from nanscope.capture.state import has_values
from nanscope.course import MAYBE_MEANT, Course
from nanscope.device import later
from nanscope.device.deferred import Deferred
from nanscope.distributed import early
from nanscope.distributed.children import Children
from nanscope.distributed.deserted import deserted, let_down
from nanscope.distributed.healing import Whole
from nanscope.distributed.peers import Peers
from nanscope.distributed.replicas import Replicas
from nanscope.folder import Folder
from nanscope.outcomes import Diagnosed
from nanscope.overflows import Overflows
from nanscope.repeat import Repetition
from nanscope.replay import comm
from nanscope.replay.places import place as make_place
from nanscope.stop import Stop
from nanscope.trip import Trip
from nanscope.undo import Undo

Tensor = torch.Tensor
FAILURES_TOLD = 3  # errors of our own recording that are said one by one
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
        self.recorder.on_error = self._recording_failed
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
        self.device_loss: tuple[Event, Tensor] | None = None
        self.deferred = Deferred(self)
        self.overflows = Overflows(self)
        self.undo = Undo(self)
        self.loss_scaled = False  # by a GradScaler, in this step
        self._update_left_out: bool | None = None  # decided for this step, after a trip before a manual update
        self.course = Course(self.recorder)
        before, after, self._raised = optimizers.hooks(self.recorder, self)
        self.calm = _core.Calm(  # the hooks around steps in which all is well
            self.recorder, self.course.monitor, self.clock, before, after,
            self.alarmed, signals.GRADIENT_VOUCHED,
        )  # fmt: skip
        self.calm.write_to(self.run_folder.log)
        self.audit = Recomputation(checks.recompute, self)
        self.kernels = Kernels(checks.attention, self)
        self.others = [audit for audit in (self.kernels, Repetition(checks.repeat, self)) if audit.every is not None]
        self._number = 0  # of the last optimizer
        self._settings: weakref.WeakKeyDictionary[Any, tuple[int, bool]] = (
            weakref.WeakKeyDictionary()
        )  # fingerprint, vouched
        self._gradients: Any = None  # what was last seen of them: _core.Look or signals.Gradients
        self._step_event: Event | None = None
        self._vouched = False
        self._failures = 0  # of our own recording
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
            tracing.install(recorder),
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
            tape.originals = self.keep_tape().originals
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
        if len(roots) == 1 and roots[0].numel() == 1 and has_values(roots[0]):
            root = roots[0]
            if root.is_cpu:
                value = root.item()
                if type(value) is float:
                    self._loss_read(event, root, value)
            else:
                self.device_loss = (event, root.detach())
                self.calm.forget()
        self.calm.spent(time.perf_counter_ns() - start)

    def _loss_read(self, event: Event, root: Tensor, value: float) -> None:
        unscaled = self.calm.unscaled
        event.value = value
        self.calm.loss = value if unscaled is None else unscaled
        if not math.isfinite(value) and self.pending is None:
            # Under a GradScaler an infinite scaled loss may be a finite loss times the scale; on a device nobody has read it.
            finite = self.loss_scaled and (unscaled is None or math.isfinite(unscaled))
            if not (math.isinf(value) and finite):
                kind = "nan" if math.isnan(value) else "inf"
                self.pending = Trip(self.clock.now(), "loss", kind, self.keep_tape(), root, None, value)
                self.pending.roots = list(self.recorder.roots)
                self.calm.forget()

    def scaled(self, scaler: Any, outputs: Any = None) -> None:
        """A GradScaler is in use: infinite gradients are its business."""
        if self.scaler is not scaler:
            self.scaler = scaler
            self.calm.forget()
            self.calm.scaled_by(scaler)
        self.loss_scaled = True
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
        self.deferred.settle()
        look = _core.look(list(optimizer.param_groups))
        scaled = later.scaled_by(optimizer)
        if self.deferred.begin(optimizer, look, scaled):
            self._gradients, self._vouched = None, True
            self.calm.spent(time.perf_counter_ns() - start)
            return False
        gradients = self._gradients = self._read(optimizer, look, scaled)
        if self.course.monitor.batch_due(gradients.norm, recorder):
            self.course.monitor.batch(self.clock.step_of(optimizer), recorder)
        if self.overflows.inside(scaled):
            self._vouched = True
            self.calm.spent(time.perf_counter_ns() - start)
            self.overflows.seen(optimizer)
            return False
        trip = None
        if self.pending is not None:
            trip, self.pending = self.pending, None
            trip.step = self.clock.step_of(optimizer)
        elif (owner := gradients.bad) is not None and owner.grad is not None:
            trip = self.trip(optimizer, "gradient", owner.grad, owner)
        elif recorder.changed:
            trip = self.bad_buffer(optimizer)
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
            self.undo.keep(optimizer)
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
        waiting, self.device_loss = self.device_loss, None
        if waiting is None and not look.unread and scaled is None:
            return look
        elsewhere, value = later.now(optimizer, look, None if waiting is None else waiting[1])
        if waiting is not None and value is not None:
            self._loss_read(*waiting, value)
        factor = 1.0 if scaled is None or scaled[1] is None else scaled[1].item()
        return signals.Gradients(look, elsewhere, factor)

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
        skipped = self.overflows.stepped() or skipped
        if not skipped and not self._vouched:
            bad = signals.first_bad(signals.optimizer_tensors(optimizer))
            if bad is not None:
                self.calm.spent(time.perf_counter_ns() - start)
                self.undo.bad(optimizer, bad, self._step_event)
                start = time.perf_counter_ns()
        self._end_step(optimizer, skipped, start)

    def _step_raised(self) -> None:
        """An optimizer's step has ended in an exception. The program may catch it and go on: the tape goes on with it."""
        self.overflows.abandon()
        self.deferred.abandon()
        if not self.calm.abandon():
            self._raised()

    def left_out(self, optimizer: Any) -> None:
        """`GradScaler.step` has left the update out; the step is over all the same."""
        start = time.perf_counter_ns()
        self._turn_to(optimizer)
        self.deferred.settle()
        waiting, self.device_loss = self.device_loss, None
        if waiting is not None:
            self._loss_read(*waiting, waiting[1].item())  # the scaler has just waited for the device
        self.overflows.seen(optimizer)
        self._end_step(optimizer, True, start)

    def _end_step(self, optimizer: Any, skipped: bool, start: int) -> None:
        gradients = self._gradients
        step = self.clock.stepped(optimizer)
        self._step_event = None
        self.undo.forget()
        if not skipped:
            self.handled = None
        self.calm.spent(time.perf_counter_ns() - start)
        scale = None if self.scaler is None else self.scale()
        if self.deferred.put_off(optimizer):
            return
        loss = self.calm.loss
        alarm = self.observe(optimizer, self._number, step, self.calm.end_step(), loss, gradients, scale, skipped)
        if alarm is not None:
            self.alarmed(alarm, optimizer, loss)
        self.loss_scaled = False
        self.recorder.boundary()
        self._learn(optimizer, gradients)
        if self.errand is not None:
            self.errand.at_step(self, self.clock.now())

    def is_plain(self, optimizer: Any, limits: int) -> bool:
        """Whether nothing but the numbers of a step says whether it is a good one: no trip is open, nobody compares or traces it,
        and the optimizer, past its first steps, is vouched for."""
        return (
            self.pending is None
            and self.handled is None
            and self.errand is None
            and not self.audit.every
            and not self.others
            and self._settings.get(optimizer) == (limits, True)
            and self._number not in self.course._carries
        )

    def _learn(self, optimizer: Any, gradients: Any) -> None:
        """The next steps of an optimizer need no closer look while nothing changes."""
        fused = getattr(optimizer, "_step_supports_amp_scaling", False)  # a scaler tells it what to do in attributes
        if (
            type(gradients) is _core.Look
            and self.device_loss is None
            and (self.scaler is None or not fused)
            and self.is_plain(optimizer, gradients.limits)
        ):
            self.calm.know(optimizer, gradients.limits, self._number)

    def forget_gradients(self) -> None:
        """The update is left out, and with it what the step has come to."""
        self._gradients = None
        self.handled = None

    def observe(
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

    def alarmed(self, alarm: _core.Alarm, optimizer: Any, loss: float | None) -> None:
        """Something shows over several steps. What the program may want is told, and ends no run."""
        if self.diagnosing or self._trips:
            return
        trip = Trip(alarm.seen, "trend", "finite", self.keep_tape(), None, None, loss, optimizer)
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
                    trip = self.trip(None, "gradient", owner.grad, owner)
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
        self.deferred.settle()
        updated = list(self.recorder.updated)
        bad = signals.first_bad([u.detach() for u in updated])
        trip, self.pending = self.pending, None
        step = self.clock.now()
        if trip is None and bad is not None and self._update_left_out is None:
            owner = next(u for u in updated if signals.kind_of(u) != "finite")
            trip = self.trip(None, "parameter", owner, owner)
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

    def keep_tape(self) -> Tape:
        """The present tape, for a trip: the next step gets a new one."""
        self.recorder.kept = True
        return self.recorder.tape

    def trip(self, optimizer: Any, where: str, tensor: Tensor, owner: Tensor | None) -> Trip:
        step = self.clock.now() if optimizer is None else self.clock.step_of(optimizer)
        trip = Trip(step, where, signals.kind_of(tensor), self.keep_tape(), owner, None, self.calm.loss, optimizer)
        trip.roots = list(self.recorder.roots)
        return trip

    def bad_buffer(self, optimizer: Any) -> Trip | None:
        """Running statistics and the like that this step has made bad."""
        changed = self.recorder.changed
        if not changed:
            return None
        bad = signals.first_bad(changed)
        if bad is None or signals.was_bad(bad, self.recorder.tape):
            return None
        return self.trip(optimizer, "buffer", bad, bad)

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
            self.deferred.gone()  # what was not judged is in the record all the same
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

    def _recording_failed(self, text: str) -> None:
        self._failures += 1
        if self._failures <= FAILURES_TOLD:
            self.warn(text)
        elif self._failures == FAILURES_TOLD + 1:
            self.warn("more calls could not be recorded")

    def warn(self, text: str) -> None:
        """Says something once, on stderr and in the run folder. Never raises into the loop."""
        if text not in self._warned:
            self._warned.add(text)
            self.run_folder.note(text)
            sys.stderr.write(f"nanscope: {text}\n")
