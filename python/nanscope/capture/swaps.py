"""Tensors whose contents trade places: `torch.utils.swap_tensors`, behind `Module.to_empty`, `Module.to` and `load_state_dict`
of tensor subclasses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from nanscope.capture.recorder import Recorder


def install(recorder: Recorder) -> Callable[[], None]:
    """torch refuses to swap a tensor that has weak references: those of the tape are let go of before."""
    home: Any = torch.utils
    original = getattr(home, "swap_tensors", None)
    if original is None:  # not in this version of torch
        return lambda: None

    @functools.wraps(original)
    def swap_tensors(first: Any, second: Any) -> Any:
        if not recorder.closed:
            _forget(recorder, first)
            _forget(recorder, second)
        return original(first, second)

    home.swap_tensors = swap_tensors

    def uninstall() -> None:
        home.swap_tensors = original

    return uninstall


def _forget(recorder: Recorder, tensor: Any) -> None:
    recorder.forget(tensor)
    tape = recorder.tape
    if tape.events:
        tape.unsafe.append("a tensor was swapped for another")
    tape.read.pop(id(tensor), None)
    tape.fresh[:] = [weak for weak in tape.fresh if weak() is not tensor]
    for key in [key for key, weak in tape.storages.items() if weak() is tensor]:
        del tape.storages[key]
