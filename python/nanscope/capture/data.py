"""Input code runs with recording off: what a `DataLoader` returns is a tensor from outside the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from nanscope.capture.recorder import Recorder


def install(recorder: Recorder) -> Callable[[], None]:
    """Patches the iteration of `DataLoader`, the start of its workers included."""
    start, step = DataLoader.__iter__, _BaseDataLoaderIter.__next__

    def off(original: Any) -> Any:
        def call(self: Any) -> Any:
            if not recorder.live():
                return original(self)
            popped = recorder.enter()
            try:
                return original(self)
            finally:
                recorder.leave(popped)

        return call

    DataLoader.__iter__ = off(start)  # type: ignore[method-assign]
    _BaseDataLoaderIter.__next__ = off(step)  # type: ignore[method-assign]

    def uninstall() -> None:
        DataLoader.__iter__ = start  # type: ignore[method-assign]
        _BaseDataLoaderIter.__next__ = step  # type: ignore[method-assign]

    return uninstall
