"""Runs the failing step with one change and says what came of it. Everything is put back after every replay."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from nanscope import _core, signals
from nanscope.capture.event import Event, closure
from nanscope.capture.recorder import storage_id
from nanscope.experiments.change import Change
from nanscope.experiments.peak import Peak, allocated, devices
from nanscope.replay.names import Names
from nanscope.replay.player import Player
from nanscope.replay.values import number, readable
from nanscope.trip import Trip

Tensor = torch.Tensor
TIMED_SECONDS = 0.05  # short replays are timed again until they have taken so long together,
TIMED_MAX = 3  # at most so often; the shortest time counts
ONCE_SECONDS = 1.0  # one that takes so long is timed once


@dataclass
class Trial:
    """What one replay has shown. `bits` are digests of losses and gradients, `seconds` those of the events alone."""

    finite: bool
    loss: float | None
    seconds: float
    error: str | None = None
    bits: list[int | None] = field(default_factory=list)


class Changed(Player):
    """A replay with one change."""

    def __init__(self, change: Change, *player: Any) -> None:
        super().__init__(*player)
        self.change = change
        self.seconds = 0.0

    def _play(self, around: Any) -> None:
        with self.change.whole():
            _settle()
            start = time.perf_counter()
            super()._play(around)
            _settle()
            self.seconds = time.perf_counter() - start

    def arguments(self, event: Event) -> tuple[Any, Any]:
        return self.change.arguments(event, *super().arguments(event))

    def call(self, event: Event, args: Any, kwargs: Any) -> Any:
        return self.change.call(event, args, kwargs, lambda: super(Changed, self).call(event, args, kwargs))


class Bench:
    """The failing step of one trip, to be run again and again.

    `limit` is when the time is over, by `time.monotonic()`. `storages` are those of parameters and buffers. `reference` is the
    loss of the step in float64, once known.
    """

    def __init__(
        self, trip: Trip, names: Names, parameters: list[Tensor], scalers: list[Any], base: str, limit: float
    ) -> None:
        self.trip = trip
        self.names = names
        self.parameters = parameters
        self.scalers = scalers
        self.base = base
        self.limit = limit
        self.storages = {storage_id(t) for t in (*parameters, *(b for root in trip.roots for b in root.buffers()))}
        self.replays = 0
        self.reference: float | None = None
        self.plain: Trial | None = None
        self.island: dict[str, Any] | None = None  # `Island` of the schema, once found
        self._idle: dict[Any, float] = {}
        self._plain_peak: int | None = None
        self._generators = _generators(closure(trip.tape))

    def over(self, replays: float = 1.0) -> bool:
        """True when there is no time left for so many plain replays."""
        each = self.plain.seconds if self.plain is not None else 0.0
        return time.monotonic() + replays * each > self.limit

    # ---- one replay

    def run(self, change: Change, peak: Peak | None = None) -> Trial:
        """One replay with `change`."""
        trip = self.trip
        optimizers = [trip.optimizer] if trip.last is not None else []
        player = Changed(change, trip.tape, trip.last, optimizers, self.scalers)
        states = [(g, g.get_state()) for g in self._generators]
        after: list[bool] = []

        on = devices(self.parameters) if peak is not None else set()

        @contextlib.contextmanager
        def around(event: Event, args: Any, kwargs: Any) -> Iterator[None]:
            with contextlib.nullcontext() if peak is None or on else peak, change.around(event):
                yield

        try:
            with _uncached(), allocated(peak, on) if peak is not None and on else contextlib.nullcontext():
                player.play(around, self.parameters, lambda: after.append(self._state_finite()))
        finally:
            for generator, state in states:
                generator.set_state(state)
        self.replays += 1
        gradients = [g for g in player.gradients.values() if g is not None] if hasattr(player, "gradients") else []
        loss = player.losses[-1][1] if player.losses else None
        finite = player.error is None and all(after) and self._finite(player, gradients)
        recorded = any(event.failed for event in player.events)  # the program's own call has raised in the run, too
        error = None if player.error is None or recorded else f"{type(player.error).__name__}: {player.error}"
        bits = [_digest(g) for g in gradients] if change.__class__ is Change else []
        return Trial(finite, loss, player.seconds, error, bits)

    def _finite(self, player: Player, gradients: list[Tensor]) -> bool:
        """Whether what tripped is finite: losses and gradients, or the result that no backward followed."""
        trip = self.trip
        if not all(math.isfinite(value) for _, value in player.losses):
            return False
        watched = [t for e in player.events if e.kind == "grad" for t in player.results.get(e.serial, [])]
        if trip.event is not None:
            watched += player.results.get(trip.event.serial, [])
        if trip.origin is not None:  # a parameter that the program itself has made
            made = player.results.get(trip.origin[0].serial, [])
            watched += [t for t in (*made, *(m.grad for m in made if m.is_leaf)) if t is not None]
        if trip.where == "output":
            watched = [t for found in player.results.values() for t in found]
        if signals.first_bad([t.detach() for t in watched if t.is_floating_point()]) is not None:
            return False
        if trip.where == "loss" and self.scalers:
            return True  # an infinite gradient is the scaler's business
        return signals.first_bad(gradients) is None

    def _state_finite(self) -> bool:
        """Whether parameters after an update, and what else tripped, are finite while the replay is still in place."""
        trip = self.trip
        tensors = signals.optimizer_tensors(trip.optimizer) if trip.last is not None else []
        if trip.where in ("buffer", "parameter", "state") and isinstance(trip.tensor, Tensor):
            tensors = [*tensors, trip.tensor]
        return signals.first_bad([t.detach() for t in tensors if t.is_floating_point()]) is None

    # ---- measured

    def timed(self, change: Change, first: Trial | None = None) -> Trial:
        """The trial of `change`, with the shortest of some times."""
        trial = first or self.run(change)
        spent, runs = trial.seconds, 1
        while (spent < TIMED_SECONDS or runs < 2) and runs < TIMED_MAX and trial.error is None and spent < ONCE_SECONDS:
            if self.over():
                break
            again = self.run(change)
            spent, runs = spent + again.seconds, runs + 1
            trial.seconds = min(trial.seconds, again.seconds)
        return trial

    def outcome(
        self, planned: dict[str, Any], change: Change, note: dict[str, str] | None = None
    ) -> dict[str, Any] | None:
        """A `Tried` of the schema: `planned` with what came of `change`; `None` where the changed step cannot be run."""
        trial = self.run(change)
        if trial.error is not None:
            return None
        return self.told(planned, trial, change, note)

    def told(
        self, planned: dict[str, Any], trial: Trial, change: Change, note: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """A `Tried` of the schema. What a change costs is measured where it helps."""
        found: dict[str, Any] = {"id": planned["id"], "change": planned["change"], "finite": trial.finite, "steps": 1}
        if trial.loss is not None:
            found["loss"] = number(trial.loss)
            error = self._error(trial.loss)
            if error is not None:
                found["reference_error"] = error
        if trial.finite:
            idle, memory = self._idle_seconds(change), self._memory_ratio(change)
            if idle is not None:
                found["time_ratio"] = self.timed(change, trial).seconds / idle
            if memory is not None:
                found["memory_ratio"] = memory
        if note is not None:
            found["note"] = note
        return found

    def _error(self, loss: float) -> float | None:
        reference = self.reference
        if reference is None or not math.isfinite(loss):
            return None
        return abs(loss - reference) / abs(reference) if reference else (0.0 if loss == reference else None)

    def _idle_seconds(self, change: Change) -> float | None:
        """Seconds of a replay that is observed as `change` is, and not changed."""
        idle = change.idle()
        kind = type(idle)
        if kind is Change:
            return self.plain.seconds if self.plain is not None else None
        key = (kind, getattr(idle, "everywhere", None))
        if key not in self._idle:
            if self.over():
                return None
            self._idle[key] = self.timed(idle).seconds
        return self._idle[key]

    def _memory_ratio(self, change: Change) -> float | None:
        if self.over(2):
            return None
        if self._plain_peak is None:
            peak = Peak()
            self.run(Change(), peak)
            self._plain_peak = peak.bytes
        peak = Peak()
        self.run(change, peak)
        return peak.bytes / self._plain_peak if self._plain_peak else None


def _settle() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()  # or the time would be that of launching the kernels


@contextlib.contextmanager
def _uncached() -> Iterator[None]:
    """Inside the program's own autocast its cached casts outlive a replay: none is read or left there."""
    inside = torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
    before = torch.is_autocast_cache_enabled()
    if inside:
        torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def _digest(tensor: Tensor) -> int | None:
    dense = readable(tensor)
    return None if dense is None else _core.digest(dense)


def _generators(events: list[Event]) -> list[Any]:
    """Generators that the program has handed to a call itself."""
    found: dict[int, Any] = {}

    def visit(value: Any) -> None:
        if isinstance(value, torch.Generator):
            found[id(value)] = value
        elif isinstance(value, (tuple, list)):
            for item in value:
                visit(item)
        elif isinstance(value, dict):
            for item in value.values():
                visit(item)

    for event in events:
        visit((event.args, event.kwargs))
    return list(found.values())
