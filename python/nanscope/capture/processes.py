"""Processes that the program starts. They are not watched, and the report says so."""

from __future__ import annotations

import functools
import multiprocessing.process
from collections.abc import Callable
from typing import Any

from nanscope.capture.recorder import Recorder

Told = Callable[[str], None]


def install(recorder: Recorder, told: Told) -> Callable[[], None]:
    """Patches `Process.start`; workers of a `DataLoader` start with recording off and are input code."""
    cls = multiprocessing.process.BaseProcess
    original = cls.start

    @functools.wraps(original)
    def start(self: Any) -> Any:
        if recorder.live():
            told(self.name)
        return original(self)

    cls.start = start  # type: ignore[method-assign]

    def uninstall() -> None:
        cls.start = original  # type: ignore[method-assign]

    return uninstall
