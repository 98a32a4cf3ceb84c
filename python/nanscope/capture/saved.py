"""Which saved-tensor hooks are in force: `torch.autograd.graph.saved_tensors_hooks` and what is built on it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import saved_tensors_hooks

if TYPE_CHECKING:
    from nanscope.capture.recorder import Recorder

_top: Any = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
_stack: list[tuple[Any, Any]] = []


def hooks() -> tuple[Any, Any] | None:
    """The innermost `(pack, unpack)`, or `None`."""
    if _top is not None:
        found: tuple[Any, Any] | None = _top(False)
        return found
    return _stack[-1] if _stack else None


# Without a frame of Python, where torch can be asked.
current: Callable[[], Any] = hooks if _top is None else functools.partial(_top, False)


def install(recorder: Recorder) -> Callable[[], None]:
    """torch before 2.6 does not tell which hooks are on top: there the stack is kept here."""
    if _top is not None:
        return lambda: None
    enter, leave = saved_tensors_hooks.__enter__, saved_tensors_hooks.__exit__

    @functools.wraps(enter)
    def __enter__(self: Any) -> None:
        enter(self)
        _stack.append((self.pack_hook, self.unpack_hook))

    @functools.wraps(leave)
    def __exit__(self: Any, *args: object) -> None:
        if _stack:
            _stack.pop()
        leave(self, *args)

    saved_tensors_hooks.__enter__ = __enter__  # type: ignore[method-assign]
    saved_tensors_hooks.__exit__ = __exit__  # type: ignore[method-assign]

    def uninstall() -> None:
        saved_tensors_hooks.__enter__ = enter  # type: ignore[method-assign]
        saved_tensors_hooks.__exit__ = leave  # type: ignore[method-assign]

    return uninstall
