"""Checkpointing off: blocks run once, and backward reads what they have kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch.utils.checkpoint as home

from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: none."""
    found = bench.outcome(planned, Off())
    return [] if found is None else [found]


class Off(Change):
    """Both kinds of torch's checkpoint run the block and nothing else. What the program itself recomputes stays."""

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        generator = home._checkpoint_without_reentrant_generator
        apply = home.CheckpointFunction.__dict__.get("apply")

        def once(*args: Any, **kwargs: Any) -> Iterator[None]:
            yield

        def direct(run_function: Any, preserve: Any, *args: Any) -> Any:
            return run_function(*args)

        home._checkpoint_without_reentrant_generator = once
        home.CheckpointFunction.apply = staticmethod(direct)  # type: ignore[method-assign]
        try:
            yield
        finally:
            home._checkpoint_without_reentrant_generator = generator
            if apply is None:
                del home.CheckpointFunction.apply
            else:
                home.CheckpointFunction.apply = apply  # type: ignore[method-assign]
