"""`torch.profiler.record_function`, which torch puts around every optimizer step, runs with recording off.

It calls an operator through whatever function mode is on top; there is nothing in it to record, and the detour costs more
than recording an event.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.autograd.profiler import record_function

from nanscope.capture.recorder import Recorder

STEP = "Optimizer.step#"  # how torch names the mark around an optimizer's step


def install(recorder: Recorder, step_raised: Callable[[], None]) -> Callable[[], None]:
    """Patches `record_function.__enter__` and `__exit__`. `step_raised` is told of an optimizer's step that ends in an
    exception, which the program may catch."""
    enter, leave = record_function.__enter__, record_function.__exit__

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        return recorder.aside(enter, (self,))

    @functools.wraps(leave)
    def __exit__(self: Any, *error: Any) -> Any:
        result = recorder.aside(leave, (self, *error))
        if error and error[0] is not None and self.name.startswith(STEP):
            step_raised()
        return result

    record_function.__enter__ = __enter__  # type: ignore[method-assign]
    record_function.__exit__ = __exit__  # type: ignore[method-assign]

    def uninstall() -> None:
        record_function.__enter__ = enter  # type: ignore[method-assign]
        record_function.__exit__ = leave  # type: ignore[method-assign]

    return uninstall
