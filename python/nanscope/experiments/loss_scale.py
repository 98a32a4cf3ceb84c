"""A smaller or larger loss scale, whoever multiplies with it: a GradScaler or the program itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from nanscope.capture.event import Event
from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: `factor`, a power of two."""
    found = bench.outcome(planned, Scale(planned["arguments"]["factor"]))
    return [] if found is None else [found]


class Scale(Change):
    """Backward begins with `factor` in place of 1. The gradients keep it: only their range is looked at, and to divide by it
    in their own format would bring back what the scale was to avoid."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def call(self, event: Event, args: Any, kwargs: Any, call: Callable[[], Any]) -> Any:
        roots = [args[0]] if args and isinstance(args[0], torch.Tensor) else args[0] if args else []
        given = [*args[1:2], kwargs.get("gradient"), kwargs.get("grad_tensors")]
        if event.kind != "backward" or len(roots) != 1 or any(value is not None for value in given):
            return call()
        start = torch.full_like(roots[0], self.factor)
        rest = {key: value for key, value in kwargs.items() if key not in ("gradient", "grad_tensors")}
        return event.target(args[0], start if args[0] is roots[0] else [start], *args[2:], **rest)
