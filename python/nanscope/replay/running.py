"""Which modules are running."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def running(stack: list[torch.nn.Module]) -> Iterator[None]:
    """Keeps `stack` as the modules whose call has begun and not ended, outermost first, through `nn.Module.__call__`."""
    original = torch.nn.Module.__call__

    def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
        stack.append(module)
        try:
            return original(module, *args, **kwargs)
        finally:
            stack.pop()

    torch.nn.Module.__call__ = __call__  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.nn.Module.__call__ = original  # type: ignore[method-assign]
