"""What only looks like training: while torch traces, and where tensors have no values, nothing is recorded.

The tracer of TorchScript (`torch.jit.trace`, ONNX export, `add_graph` of TensorBoard) makes whatever is called a part of its graph;
under a `FakeTensorMode` (export, estimates of memory) no value can be read.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from nanscope.capture.recorder import Recorder

_TRACERS = (
    (torch._C, "_create_function_from_trace"),
    (torch._C, "_create_function_from_trace_with_dict"),
    (torch._C, "_create_graph_by_tracing"),
    (torch._C.ScriptModule, "_create_method_from_trace"),
    (torch._C.ScriptModule, "_create_method_from_trace_with_dict"),
)


def install(recorder: Recorder) -> Callable[[], None]:
    """Patches the functions of `torch._C` that run the tracer, and `FakeTensorMode.__enter__` and `__exit__`."""
    undo = [_tracer(recorder, home, name) for home, name in _TRACERS if name in home.__dict__]
    undo.append(_fakes(recorder))

    def uninstall() -> None:
        for step in undo:
            step()

    return uninstall


def _tracer(recorder: Recorder, home: Any, name: str) -> Callable[[], None]:
    original = home.__dict__[name]

    @functools.wraps(original)
    def tracer(*args: Any, **kwargs: Any) -> Any:
        if not recorder.live():
            return original(*args, **kwargs)
        popped = recorder.enter()
        try:
            return original(*args, **kwargs)
        finally:
            recorder.leave(popped)

    setattr(home, name, tracer)
    return lambda: setattr(home, name, original)


@dataclass
class _Inside:
    mode: Any
    thread: int
    entered: int = 1


def _fakes(recorder: Recorder) -> Callable[[], None]:
    enter, leave = FakeTensorMode.__enter__, FakeTensorMode.__exit__
    inside: list[_Inside] = []  # one entry while a mode is on that was entered at top level

    def outermost(mode: Any) -> _Inside | None:
        """The entry of `mode` in this thread. A mode is entered again inside, by itself for every operator."""
        here = inside[-1] if inside else None
        return here if here is not None and here.mode is mode and here.thread == threading.get_ident() else None

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        result = enter(self)
        here = outermost(self)
        if here is not None:
            here.entered += 1
        elif recorder.live():
            recorder.pause()  # other modes of the program's may come and go inside: ours keeps its place among them
            inside.append(_Inside(self, threading.get_ident()))
        return result

    @functools.wraps(leave)
    def __exit__(self: Any, *error: Any) -> Any:
        try:
            return leave(self, *error)
        finally:
            here = outermost(self)
            if here is not None:
                here.entered -= 1
                if not here.entered:
                    inside.pop()
                    recorder.resume()

    FakeTensorMode.__enter__, FakeTensorMode.__exit__ = __enter__, __exit__  # type: ignore[method-assign]

    def uninstall() -> None:
        FakeTensorMode.__enter__, FakeTensorMode.__exit__ = enter, leave  # type: ignore[method-assign]

    return uninstall
