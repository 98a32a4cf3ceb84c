"""Runs one step with one setting of checkpointing: its peak memory, its time, its losses and gradients."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.event import Event, Tape, walk
from nanscope.capture.recorder import storage_id
from nanscope.experiments.peak import devices
from nanscope.replay.player import Player, Unplayable
from nanscope.replay.values import readable
from nanscope.tuner.checkpoints import Chosen, calls
from nanscope.tuner.memory import Storages, Timeline, countable

Tensor = torch.Tensor
Whole = Any  # () -> context manager that is in force around all events of a replay


@dataclass
class Ran:
    """One replay. `bits` are digests of losses and gradients, `buffers` those of buffers afterwards; `error` is there where it did
    not come to its end."""

    seconds: float
    peak: int | None = None
    bits: list[Any] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=list)
    error: str | None = None


class Replay(Player):
    """A replay that lets go of what no later event reads, as the program's own variables would."""

    def __init__(self, tape: Tape, last: Event | None, optimizers: list[Any], scalers: list[Any], whole: Whole) -> None:
        super().__init__(tape, last, optimizers, scalers)
        self.seconds = 0.0
        self._whole = whole
        self._over: dict[int, list[int]] = {}  # event -> events whose results it is the last to read
        last_read: dict[int, int] = {}
        for event in self.events:
            walk((event.args, event.kwargs), lambda ref, by=event.serial: last_read.__setitem__(ref.event.serial, by))
        for serial, by in last_read.items():
            self._over.setdefault(by, []).append(serial)

    def _play(self, around: Any) -> None:
        with self._whole():
            settle()
            start = time.perf_counter()
            super()._play(around)
            settle()
            self.seconds = time.perf_counter() - start

    def _run(self, event: Event, around: Any) -> None:
        super()._run(event, around)
        for serial in self._over.get(event.serial, ()):
            self.results.pop(serial, None)


class Bench:
    """The step of one tape. `resident` are the bytes that it finds and leaves: parameters, buffers, optimizer state, inputs."""

    def __init__(
        self, tape: Tape, last: Event | None, optimizer: Any, scalers: list[Any], parameters: list[Tensor],
        buffers: list[Tensor],
    ) -> None:  # fmt: skip
        self._tape, self._scalers = tape, scalers
        self._parameters, self._buffers = parameters, buffers
        self._last, self._optimizers = last, [optimizer] if last is not None else []
        self.devices = devices(parameters)
        state = [] if optimizer is None else [v for s in optimizer.state.values() for v in _tensors(s)]
        inputs = [tensor for tensor, _ in tape.held.values()]
        there = {
            storage_id(t): t.untyped_storage().nbytes()
            for t in (*parameters, *buffers, *state, *inputs)
            if countable(t)
        }
        self.resident = sum(there.values())

    @property
    def counted(self) -> str:
        """Who counts memory."""
        return "allocator" if self.devices else "storages"

    def settle_update(self) -> None:
        """Leaves the update out of the step where it cannot be run by itself (an optimizer that wants a closure)."""
        if self._last is not None and self.run(contextlib.nullcontext).error is not None:
            self._last, self._optimizers = None, []

    def run(self, whole: Whole, around: Any = None) -> Ran:
        """One replay inside `whole()`, every event inside `around(event, args, kwargs)`."""
        player = Replay(self._tape, self._last, self._optimizers, self._scalers, whole)
        buffers: list[Any] = []
        try:
            player.play(
                around or (lambda event, args, kwargs: contextlib.nullcontext()), self._parameters,
                lambda: buffers.extend(_digest(b) for b in self._buffers),
            )  # fmt: skip
        except (Unplayable, torch.OutOfMemoryError) as error:
            return Ran(player.seconds, error=str(error).partition("\n")[0])
        if player.error is not None:
            return Ran(player.seconds, error=f"{type(player.error).__name__}: {player.error}".partition("\n")[0])
        gradients = player.gradients.values()
        bits = [value.hex() for _, value in player.losses] + [None if g is None else _digest(g) for g in gradients]
        return Ran(player.seconds, bits=bits, buffers=buffers)

    def measured(self, whole: Whole) -> Ran:
        """One replay whose memory is counted."""
        gc.collect()
        if self.devices:
            return self._allocated(whole)
        storages = Storages()
        ran = self.run(whole, lambda event, args, kwargs: storages)
        storages.closed = True
        ran.peak = self.resident + storages.bytes
        return ran

    def _allocated(self, whole: Whole) -> Ran:
        before: dict[torch.device, int] = {}

        @contextlib.contextmanager
        def counting() -> Iterator[None]:
            with whole():
                for device in self.devices:
                    torch.cuda.synchronize(device)
                    torch.cuda.reset_peak_memory_stats(device)
                    before[device] = torch.cuda.memory_allocated(device)
                yield

        ran = self.run(counting)
        more = sum(torch.cuda.max_memory_allocated(device) - bytes_ for device, bytes_ in before.items())
        ran.peak = self.resident + more
        return ran

    def traced(self, blocks: list[torch.nn.Module]) -> tuple[Timeline, Ran]:
        """One replay without checkpointing under a `Timeline`."""
        gc.collect()
        timeline = Timeline()
        index = {id(block): at for at, block in enumerate(blocks)}

        @contextlib.contextmanager
        def region(arguments: Any, block: int | None) -> Iterator[None]:
            begun = timeline.begin(arguments, block)
            try:
                yield
            finally:
                timeline.end(begun)

        def called(module: Any, original: Any, args: Any, kwargs: Any) -> Any:
            block = index.get(id(module))
            if block is None or not torch.is_grad_enabled():
                return original(module, *args, **kwargs)
            with region((args, kwargs), block):
                return original(module, *args, **kwargs)

        @contextlib.contextmanager
        def whole() -> Iterator[None]:
            with Chosen([], lambda function, arguments: region(arguments, None))(), calls(called):
                yield

        @contextlib.contextmanager
        def around(event: Event, args: Any, kwargs: Any) -> Iterator[None]:
            with timeline, timeline.kept():
                yield

        ran = self.run(whole, around)
        timeline.closed = True
        return timeline, ran

    def seconds(self, blocks: list[torch.nn.Module], times: int) -> list[float]:
        """Seconds of the forward passes of each block, the shortest of some replays."""
        index = {id(block): at for at, block in enumerate(blocks)}
        shortest = [float("inf")] * len(blocks)
        for _ in range(times):
            spent = [0.0] * len(blocks)

            def called(module: Any, original: Any, args: Any, kwargs: Any, spent: list[float] = spent) -> Any:
                block = index.get(id(module))
                if block is None or not torch.is_grad_enabled():
                    return original(module, *args, **kwargs)
                settle()
                start = time.perf_counter()
                result = original(module, *args, **kwargs)
                settle()
                spent[block] += time.perf_counter() - start
                return result

            @contextlib.contextmanager
            def whole(called: Any = called) -> Iterator[None]:
                with Chosen([])(), calls(called):
                    yield

            self.run(whole)
            shortest = [min(a, b) for a, b in zip(shortest, spent, strict=True)]
        return shortest


def settle() -> None:
    """Waits for the device: otherwise the time would be that of launching kernels."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _tensors(state: Any) -> list[Tensor]:
    return [value for value in state.values() if isinstance(value, Tensor)] if isinstance(state, dict) else []


def _digest(tensor: Tensor) -> int | None:
    dense = readable(tensor)
    return None if dense is None else _core.digest(dense)
