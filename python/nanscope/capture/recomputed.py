"""Whether a step runs part of its forward pass again during backward: gradient checkpointing in any form."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from nanscope.capture.recorder import Recorder

HOME = "torch/utils/checkpoint.py"

_node = torch._C._current_autograd_node


class Seen:
    """`any` is set by whoever records operators anew inside backward, and `foreign` if that is not torch's own checkpoint;
    both are reset by who reads them. `before` is called when it is about to happen. While a step is compared, `nodes`
    collects the sequence numbers of the backward nodes that do."""

    __slots__ = ("any", "before", "foreign", "nodes")

    def __init__(self, before: Callable[[], None]) -> None:
        self.any = self.foreign = False
        self.before = before
        self.nodes: set[int] | None = None

    def enabled(self) -> None:
        """Gradients are recorded from here on, by the caller of the caller."""
        node = _node()
        if node is not None:
            self.any = True
            self.foreign = self.foreign or not sys._getframe(2).f_code.co_filename.endswith(HOME)
            self.before()
            if self.nodes is not None:
                self.nodes.add(node._sequence_nr())


def install(recorder: Recorder, seen: Seen) -> Callable[[], None]:
    """Patches the contexts `torch.enable_grad` and `torch.set_grad_enabled`: what is recomputed in backward, by torch's own
    checkpoint functions or by hand, is recorded below one of them."""
    enter = torch.enable_grad.__enter__
    begin = torch.set_grad_enabled.__enter__

    @functools.wraps(enter)
    def __enter__(self: Any) -> None:
        enter(self)
        if recorder.in_backward or seen.nodes is not None:
            seen.enabled()

    @functools.wraps(begin)
    def begun(self: Any) -> None:
        begin(self)
        if self.mode and (recorder.in_backward or seen.nodes is not None):
            seen.enabled()

    torch.enable_grad.__enter__ = __enter__  # type: ignore[method-assign]
    torch.set_grad_enabled.__enter__ = begun  # type: ignore[method-assign]

    def uninstall() -> None:
        torch.enable_grad.__enter__ = enter  # type: ignore[method-assign]
        torch.set_grad_enabled.__enter__ = begin  # type: ignore[method-assign]

    return uninstall
