"""CUDA graphs: nothing is read or recorded while one is captured. A read would wait for the device, which ends the capture, and
what is called then only runs when the graph is replayed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from nanscope.capture.recorder import Recorder


def install(recorder: Recorder, captured: Callable[[], None]) -> Callable[[], None]:
    """Patches `capture_begin` and `capture_end` of `torch.cuda.CUDAGraph`. `captured` is told once a graph is there."""
    graph = torch.cuda.CUDAGraph
    begin, end = graph.capture_begin, graph.capture_end
    popped: list[bool] = []  # one entry while a graph is captured

    @functools.wraps(begin)
    def capture_begin(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not recorder.live():
            return begin(self, *args, **kwargs)
        popped.append(recorder.enter())
        try:
            return begin(self, *args, **kwargs)
        except BaseException:
            recorder.leave(popped.pop())
            raise

    @functools.wraps(end)
    def capture_end(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return end(self, *args, **kwargs)
        finally:
            if popped:
                recorder.leave(popped.pop())
                captured()

    graph.capture_begin, graph.capture_end = capture_begin, capture_end  # type: ignore[method-assign]

    def uninstall() -> None:
        graph.capture_begin, graph.capture_end = begin, end  # type: ignore[method-assign]

    return uninstall
