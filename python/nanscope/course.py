"""What shows over several steps: feeds the monitor once a step and turns its alarms into trips.

Which numbers are read when is decided here; what they mean is decided in Rust (`crates/diagnose/src/monitor`).
"""

from __future__ import annotations

import json
import weakref
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.event import Event, Tape
from nanscope.capture.recorder import Recorder
from nanscope.replay.names import Names, leaves
from nanscope.replay.places import place

CARRY_STEPS = 64  # steps of an optimizer in which it is seen whether somebody zeroes its gradients
MAYBE_MEANT = {"zero-rate", "dead-units"}  # told, but no reason to end a run: the program may want them


class Carry:
    """Whether the gradient of one parameter contains that of the step before.

    Backward adds to a gradient in place. Whoever zeroes, replaces or scales it between two backwards leaves a trace in its
    version or its identity.
    """

    __slots__ = ("gradient", "grown", "intact", "parameter", "version")

    def __init__(self, parameter: torch.Tensor) -> None:
        self.parameter = weakref.ref(parameter)
        self.gradient: Any = None
        self.version = 0
        self.intact = False  # only backward has touched it since the last step
        self.grown = False  # and backward has

    def _now(self) -> torch.Tensor | None:
        parameter = self.parameter()
        gradient = None if parameter is None else parameter.grad
        return gradient if self.gradient is not None and self.gradient() is gradient else None

    def before_backward(self) -> None:
        if self.intact:
            gradient = self._now()
            self.intact = gradient is not None and gradient._version == self.version

    def after_backward(self) -> None:
        if self.intact:
            gradient = self._now()
            if gradient is not None and gradient._version != self.version:
                self.version, self.grown = gradient._version, True

    def stepped(self) -> None:
        """A new step begins with the gradient as it is."""
        parameter = self.parameter()
        gradient = None if parameter is None else parameter.grad
        self.intact, self.grown = gradient is not None, False
        if gradient is not None:
            self.gradient, self.version = weakref.ref(gradient), gradient._version


class Course:
    """The memory of a run over its steps. `recorder` tells which inputs a step had."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.monitor = _core.Monitor()
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._carries: dict[int, tuple[list[Carry], int]] = {}  # of optimizers that are young: carries, steps

    def number(self, optimizer: Any) -> int:
        """Which optimizer it is, in the order in which they were first seen."""
        known = self._numbers.get(optimizer)
        if known is None:
            known = self._numbers[optimizer] = len(self._numbers)
            self._carries[known] = ([], 0)
        return known

    def carried(self, number: int, optimizer: Any) -> bool:
        """Whether the gradients of this step contain those of the one before. Asked once a step, after it."""
        young = self._carries.get(number)
        if young is None:
            return False
        carries, steps = young
        found = any(c.intact and c.grown for c in carries)
        if not carries:
            for group in optimizer.param_groups:
                first = next((p for p in group["params"] if p.grad is not None), None)
                if first is not None:
                    carries.append(Carry(first))
        if steps >= CARRY_STEPS:
            del self._carries[number]
        else:
            self._carries[number] = (carries, steps + 1)
            for carry in carries:
                carry.stepped()
        self.recorder.carries = [c for young, _ in self._carries.values() for c in young]
        return found

    # ---- for a diagnosis

    def history(self, tape: Tape) -> dict[str, Any]:
        """Everything that is remembered, the names of the inputs taken from `tape`."""
        events = {event.serial: event for event in tape.events}
        places = self.recorder.batch_places()
        self.monitor.name_inputs([_input(events.get(serial), leaf) for serial, leaf in places])
        found: dict[str, Any] = json.loads(self.monitor.history_json())
        return found

    def trip(self, alarm: _core.Alarm, optimizer: Any, names: Names, tape: Tape, base: str) -> dict[str, Any]:
        """The trip that an alarm is, as the run folder holds it."""
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.monitor.name_parameters(self.number(optimizer), [names.of(p) or "a parameter" for p in parameters])
        last = next((e for e in reversed(tape.events) if e.kind == "backward" and e.place is not None), None)
        where = None if last is None or last.place is None else json.dumps(place(*last.place, base))
        found: dict[str, Any] = json.loads(self.monitor.trip_json(alarm, place=where))
        return found


def _input(event: Event | None, leaf: int) -> str:
    if event is not None:
        known = leaves(event)
        if leaf < len(known):
            return known[leaf]
    return "a tensor made outside the step"
