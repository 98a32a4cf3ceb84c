"""Autocast off, or in another 16-bit format, wherever the program has it on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: `enabled` (false), or `dtype`, the format to be used."""
    dtype = planned["arguments"].get("dtype")
    change = Autocast(None if dtype is None else getattr(torch, dtype))
    found = bench.outcome(planned, change)
    return [] if found is None else [found]


class Autocast(Change):
    """Every `torch.autocast` that is entered, those of the tape as well as those inside modules, is in `dtype` or off."""

    def __init__(self, dtype: torch.dtype | None) -> None:
        self.dtype = dtype

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        original = torch.amp.autocast_mode.autocast.__enter__
        dtype = self.dtype

        def __enter__(context: Any) -> Any:
            enabled, fast = context._enabled, context.fast_dtype
            if dtype is None:
                context._enabled = False
            else:
                context.fast_dtype = dtype
            try:
                return original(context)
            finally:
                context._enabled, context.fast_dtype = enabled, fast

        torch.amp.autocast_mode.autocast.__enter__ = __enter__  # type: ignore[method-assign]
        try:
            yield
        finally:
            torch.amp.autocast_mode.autocast.__enter__ = original  # type: ignore[method-assign]
