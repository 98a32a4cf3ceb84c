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
    found = bench.outcome(planned, Scale(planned["arguments"]["factor"], bench.parameters))
    return [] if found is None else [found]


class Scale(Change):
    """Backward begins with `factor` in place of 1, and what it leaves in the parameters is divided by it again: exact, but for
    what leaves the range of a format on the way, which is what the scale decides."""

    def __init__(self, factor: float, parameters: list[torch.Tensor]) -> None:
        self.factor = factor
        self.parameters = parameters

    def call(self, event: Event, args: Any, kwargs: Any, call: Callable[[], Any]) -> Any:
        roots = [args[0]] if args and isinstance(args[0], torch.Tensor) else args[0] if args else []
        given = [*args[1:2], kwargs.get("gradient"), kwargs.get("grad_tensors")]
        if event.kind != "backward" or len(roots) != 1 or any(value is not None for value in given):
            return call()
        start = torch.full_like(roots[0], self.factor)
        self._times(self.factor)
        result = event.target(args[0], start if args[0] is roots[0] else [start], *args[2:], **kwargs)
        self._times(1.0 / self.factor)
        return result

    def _times(self, factor: float) -> None:
        with torch.no_grad():
            for p in self.parameters:
                if p.grad is not None:
                    p.grad.mul_(factor)
