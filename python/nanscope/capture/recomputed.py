"""Whether a step runs part of its forward pass again during backward: gradient checkpointing in any form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from nanscope.capture.recorder import Recorder

_node = torch._C._current_autograd_node


class Seen:
    """`any` is set by whoever records operators anew inside backward, and reset by who reads it. While a step is compared,
    `nodes` collects the sequence numbers of the backward nodes that do."""

    __slots__ = ("any", "nodes")

    def __init__(self) -> None:
        self.any = False
        self.nodes: set[int] | None = None

    def enabled(self) -> None:
        """Gradients are recorded from here on."""
        node = _node()
        if node is not None:
            self.any = True
            if self.nodes is not None:
                self.nodes.add(node._sequence_nr())


def install(recorder: Recorder, seen: Seen) -> Callable[[], None]:
    """Patches `torch.enable_grad`: what is recomputed in backward, by torch's own checkpoint functions or by hand, is recorded
    below it. (`torch.set_grad_enabled(True)` would do as well and is not seen: torch's optimizers call it at every step.)"""
    enter = torch.enable_grad.__enter__

    @functools.wraps(enter)
    def __enter__(self: Any) -> None:
        enter(self)
        if recorder.in_backward or seen.nodes is not None:
            seen.enabled()

    torch.enable_grad.__enter__ = __enter__  # type: ignore[method-assign]

    def uninstall() -> None:
        torch.enable_grad.__enter__ = enter  # type: ignore[method-assign]

    return uninstall
