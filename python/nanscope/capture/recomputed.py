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
    """Patches `torch.enable_grad` and `torch.set_grad_enabled`: without one of them nothing can be recomputed in backward,
    be it by torch's own checkpoint functions or by hand. Neither is called often."""
    enter = torch.enable_grad.__enter__
    init = torch.set_grad_enabled.__init__

    @functools.wraps(enter)
    def __enter__(self: Any) -> None:
        enter(self)
        if recorder.in_backward or seen.nodes is not None:
            seen.enabled()

    @functools.wraps(init)
    def __init__(self: Any, mode: bool) -> None:
        init(self, mode)
        if mode and (recorder.in_backward or seen.nodes is not None):
            seen.enabled()

    torch.enable_grad.__enter__ = __enter__  # type: ignore[method-assign]
    torch.set_grad_enabled.__init__ = __init__  # type: ignore[method-assign]

    def uninstall() -> None:
        torch.enable_grad.__enter__ = enter  # type: ignore[method-assign]
        torch.set_grad_enabled.__init__ = init  # type: ignore[method-assign]

    return uninstall
