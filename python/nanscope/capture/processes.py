"""Processes that the program starts: each is handed the watch, which begins there once it trains."""

from __future__ import annotations

import functools
import multiprocessing.process
from collections.abc import Callable
from typing import Any

from nanscope.capture.recorder import Recorder

HandOver = Callable[[Any], Callable[[], None]]


def install(recorder: Recorder, hand_over: HandOver) -> Callable[[], None]:
    """Patches `Process.start`; workers of a `DataLoader` start with recording off and are input code."""
    cls = multiprocessing.process.BaseProcess
    original = cls.start

    @functools.wraps(original)
    def start(self: Any) -> Any:
        if not recorder.live():
            return original(self)
        started = hand_over(self)
        try:
            return original(self)
        finally:
            started()

    cls.start = start  # type: ignore[method-assign]

    def uninstall() -> None:
        cls.start = original  # type: ignore[method-assign]

    return uninstall
