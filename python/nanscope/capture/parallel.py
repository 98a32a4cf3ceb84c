"""Models that hold the same parameters on several ranks: `DistributedDataParallel`, and what of a step ran under `no_sync`."""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torch.distributed.algorithms.join import Join
from torch.nn.parallel.distributed import DistributedDataParallel

from nanscope.capture.recorder import Recorder


class Parallel:
    """The models that are alive, and the parts of the present tape that lie in a `no_sync`."""

    def __init__(self) -> None:
        self._models: list[weakref.ref[Any]] = []
        self._step = -1
        self._spans: list[tuple[int, int]] = []
        self.joining = 0  # `join` contexts that the program is in: ranks may take different numbers of steps
        self.left: Callable[[], None] = lambda: None  # the outermost one is over

    def made(self, model: Any) -> None:
        """One more model."""
        self._models.append(weakref.ref(model))

    def models(self) -> list[Any]:
        """Those that are alive, in the order in which they were made."""
        self._models = [weak for weak in self._models if weak() is not None]
        return [model for model in (weak() for weak in self._models) if model is not None]

    def under_no_sync(self, step: int, first: int, end: int) -> None:
        """Events number `first` to `end` of the tape of `step` ran in it."""
        if self._step != step:
            self._step, self._spans = step, []
        self._spans.append((first, end))

    def is_under(self, step: int, number: int) -> bool:
        """Whether event `number` of the tape of `step` ran in one."""
        return self._step == step and any(first <= number < end for first, end in self._spans)


def install(recorder: Recorder, parallel: Parallel) -> Callable[[], None]:
    """Patches `__init__` and `no_sync` of `DistributedDataParallel`, and the `Join` that its `join` makes."""
    cls: Any = DistributedDataParallel
    init, no_sync = cls.__init__, cls.no_sync

    @functools.wraps(init)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        parallel.made(self)

    @functools.wraps(no_sync)
    @contextlib.contextmanager
    def unsynced(self: Any) -> Iterator[None]:
        step, first = recorder.steps_taken, len(recorder.tape.events)
        with no_sync(self):
            yield
        now = recorder.steps_taken
        parallel.under_no_sync(now, first if now == step else 0, len(recorder.tape.events))

    for found in gc.get_objects():  # made before the watch
        if issubclass(type(found), cls):
            parallel.made(found)
    enter, leave = Join.__enter__, Join.__exit__

    @functools.wraps(enter)
    def entered(self: Any) -> Any:
        parallel.joining += 1
        return enter(self)

    @functools.wraps(leave)
    def left(self: Any, *args: Any) -> Any:
        try:
            return leave(self, *args)
        finally:
            parallel.joining = max(parallel.joining - 1, 0)
            if not parallel.joining:
                parallel.left()

    join: Any = Join
    cls.__init__, cls.no_sync, join.__enter__, join.__exit__ = made, unsynced, entered, left

    def uninstall() -> None:
        cls.__init__, cls.no_sync, join.__enter__, join.__exit__ = init, no_sync, enter, leave

    return uninstall
