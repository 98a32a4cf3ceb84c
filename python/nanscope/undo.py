"""A step of an optimizer that nothing vouches for: what it may damage is kept, and put back where it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from nanscope import signals
from nanscope.capture.event import Event
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

Tensor = torch.Tensor
SNAPSHOT_MAX_BYTES = 64 << 20  # parameters and state copied before a step that nothing vouches for


class Undo:
    """Parameters and state as they were before the running step, where they are small enough to keep."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._tensors: list[tuple[Tensor, Tensor]] | None = None
        self._states: dict[Any, Any] = {}

    def keep(self, optimizer: Any) -> None:
        """Copies what the step may change."""
        tensors = signals.optimizer_tensors(optimizer)
        if sum(t.numel() * t.element_size() for t in tensors) <= SNAPSHOT_MAX_BYTES:
            self._tensors = [(t, t.detach().clone()) for t in tensors]
            self._states = {p: dict(s) for p, s in optimizer.state.items()}

    def forget(self) -> None:
        """The step is over."""
        self._tensors, self._states = None, {}

    def bad(self, optimizer: Any, bad: Tensor, event: Event | None) -> None:
        """The step, which is `event`, has made `bad` of the optimizer's tensors bad: undoes it, and confirms the trip. Raises
        `Stop`."""
        watcher = self._watcher
        where, step = place_of(optimizer, bad), watcher.clock.step_of(optimizer)
        trip = Trip(
            step, where, signals.kind_of(bad), watcher.keep_tape(), bad, None, watcher.calm.loss, optimizer, event
        )  # fmt: skip
        trip.roots = list(watcher.recorder.roots)
        after = [(t, t.detach().clone()) for t in signals.optimizer_tensors(optimizer)]
        states = {p: dict(s) for p, s in optimizer.state.items()}
        if self._tensors is not None:
            _put(optimizer, self._tensors, self._states)
        else:
            trip.tape.unsafe.append("the parameters before the step were too large to keep")
            trip.last = None
        if not watcher.confirm(trip):
            _put(optimizer, after, states)


def place_of(optimizer: Any, tensor: Tensor) -> str:
    """`parameter` or `state`: what a tensor is to an optimizer."""
    return "parameter" if any(tensor is p for g in optimizer.param_groups for p in g["params"]) else "state"


def _put(optimizer: Any, tensors: list[tuple[Tensor, Tensor]], states: dict[Any, Any]) -> None:
    with torch.no_grad():
        for tensor, copy in tensors:
            tensor.copy_(copy)
    optimizer.state.clear()
    optimizer.state.update(states)
