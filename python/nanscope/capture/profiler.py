"""`torch.profiler.record_function`, which torch puts around every optimizer step, runs with recording off.

It calls an operator through whatever function mode is on top; there is nothing in it to record, and the detour costs more
than recording an event.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.autograd.profiler import record_function

from nanscope import _core
from nanscope.capture.recorder import Recorder

STEP = "Optimizer.step#"  # how torch names the mark around an optimizer's step


def install(recorder: Recorder, step_raised: Callable[[], None]) -> Callable[[], None]:
    """Patches `record_function.__enter__` and `__exit__`. `step_raised` is told of an optimizer's step that ends in an
    exception, which the program may catch."""
    enter, leave = record_function.__enter__, record_function.__exit__

    def raised(mark: Any) -> None:
        if mark.name.startswith(STEP):
            step_raised()

    for name, original in (("__enter__", enter), ("__exit__", leave)):
        stand_in = _core.Aside(recorder, original, raised)
        setattr(record_function, name, functools.update_wrapper(stand_in, original))

    def uninstall() -> None:
        record_function.__enter__ = enter  # type: ignore[method-assign]
        record_function.__exit__ = leave  # type: ignore[method-assign]

    return uninstall
