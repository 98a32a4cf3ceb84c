"""The update that damaged parameters or state, made with clipped gradients, a larger eps or a smaller learning rate.

This one update alone: what ten times smaller steps would have done over the steps before needs their tapes, which are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from nanscope.capture.event import Event
from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: `clip` (largest norm), `eps` or `lr`."""
    if bench.trip.last is None:
        return []
    found = bench.outcome(planned, Update(**planned["arguments"]))
    return [] if found is None else [found]


class Update(Change):
    """Settings of every parameter group, put back by the player."""

    def __init__(self, clip: float | None = None, eps: float | None = None, lr: float | None = None) -> None:
        self.clip = clip
        self.settings = {name: value for name, value in (("eps", eps), ("lr", lr)) if value is not None}

    def call(self, event: Event, args: Any, kwargs: Any, call: Callable[[], Any]) -> Any:
        if event.kind == "step":
            groups = event.target.param_groups
            if self.clip is not None:
                torch.nn.utils.clip_grad_norm_([p for g in groups for p in g["params"]], self.clip)
            for group in groups:
                group.update({name: value for name, value in self.settings.items() if name in group})
        return call()
