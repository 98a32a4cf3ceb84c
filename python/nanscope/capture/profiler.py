"""`torch.profiler.record_function`, which torch puts around `step` and `zero_grad` of every optimizer.

torch makes and ends such a mark through operators. A function mode gets to see them, and they cost several times what torch's
own functions for the same cost (`torch.autograd._record_function_with_args_enter`). So a mark is made by those where nobody can
tell the difference: every callback that listens is told of the same mark, of the same scope. Where the operators themselves can
be seen, they run with recording off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch.autograd import profiler
from torch.autograd.profiler import record_function

from nanscope import _core
from nanscope.capture.recorder import Recorder

STEP = "Optimizer.step#"  # how torch names the mark around an optimizer's step

_C: Any = torch._C
# All that `record_function.__enter__` and `__exit__` name, in every torch whose marks are known to be no more than this.
_KNOWN = {
    "torch", "ops", "_record_function_enter_new", "_record_function_exit", "_RecordFunction", "name", "args", "record",
    "profiler", "run_callbacks_on_exit", "jit", "is_scripting", "_C", "DisableTorchFunctionSubclass", "AssertionError",
    "_maybe_cupti_monitor", "_cupti_monitor_external_id", "push_user_annotation", "pop_user_annotation",
}  # fmt: skip


def install(recorder: Recorder, step_raised: Callable[[], None]) -> Callable[[], None]:
    """Patches `record_function.__enter__` and `__exit__`. `step_raised` is told of an optimizer's step that ends in an
    exception, which the program may catch."""
    enter, leave = record_function.__enter__, record_function.__exit__

    def raised(mark: Any) -> None:
        if mark.name.startswith(STEP):
            step_raised()

    apart_enter, apart_leave = _core.Aside(recorder, enter, raised), _core.Aside(recorder, leave, raised)
    direct = ("_record_function_with_args_enter", "_record_function_with_args_exit")
    if all(hasattr(_C._autograd, name) for name in direct) and _is_known(enter) and _is_known(leave):
        stand_ins = _direct(recorder, apart_enter, apart_leave, raised)
    else:
        stand_ins = apart_enter, apart_leave
    record_function.__enter__ = functools.update_wrapper(stand_ins[0], enter)  # type: ignore[method-assign]
    record_function.__exit__ = functools.update_wrapper(stand_ins[1], leave)  # type: ignore[method-assign]

    def uninstall() -> None:
        record_function.__enter__ = enter  # type: ignore[method-assign]
        record_function.__exit__ = leave  # type: ignore[method-assign]

    return uninstall


def _is_known(function: Any) -> bool:
    return isinstance(function, FunctionType) and set(function.__code__.co_names) <= _KNOWN


def _direct(recorder: Recorder, enter: Any, leave: Any, raised: Callable[[Any], None]) -> tuple[Any, Any]:
    """`enter` and `leave` without operators where none of them can be seen."""
    begin, end = _C._autograd._record_function_with_args_enter, _C._autograd._record_function_with_args_exit
    is_profiled = _C._autograd._profiler_enabled
    function_modes, dispatch_modes = _C._len_torch_function_stack, _C._len_torch_dispatch_stack
    function_mode = _C._get_function_stack_at
    trace = _C._get_tracing_state

    def is_seen() -> bool:
        """True where a profiler, a mode of the program's or a tracer is told of operators, or CUPTI is asked to annotate."""
        modes = function_modes()
        monitor = getattr(profiler, "_cupti_monitor_module", None)
        return (
            is_profiled()
            or (modes > 0 and not (modes == 1 and function_mode(0) is recorder.mode))
            or dispatch_modes() > 0
            or trace() is not None
            or (monitor is not None and getattr(monitor, "_monitor_singleton", monitor) is not None)
        )

    def __enter__(mark: Any) -> Any:
        if mark.args is not None or type(mark.name) is not str or is_seen():
            return enter(mark)
        try:
            mark.record = begin(mark.name)
        except TypeError:  # a name that is no UTF-8
            return enter(mark)
        return mark

    def __exit__(mark: Any, kind: Any, error: Any, traceback: Any) -> None:
        if (
            mark.record is None
            or not mark.run_callbacks_on_exit
            or getattr(mark, "_cupti_monitor_external_id", None) is not None
            or is_seen()
        ):
            leave(mark, kind, error, traceback)
            return
        end(mark.record)
        if kind is not None:
            raised(mark)

    return __enter__, __exit__
