"""Calls of outermost modules: each is one opaque event."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.event import Event
from nanscope.capture.failure import OnFailure
from nanscope.capture.recorder import Recorder, flatten

Seen = Callable[[Event, list[torch.Tensor], Any], None]


def install(recorder: Recorder, seen: Seen) -> Callable[[], None]:
    """Patches `nn.Module.__call__`. `seen(event, tensors, arguments)` is told of each outermost call
    that succeeded without a graph."""
    original = torch.nn.Module.__call__
    other = functools.partial(_outermost, recorder, original, seen)
    outermost = _core.Modules(recorder, original, other, seen, vars(torch.compiler), torch.compiler.is_compiling)

    @functools.wraps(original)
    def __call__(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:  # torch.compile wants a function
        if recorder.depth or not recorder.live():  # inner modules leave here: one frame and one test
            return original(module, *args, **kwargs)
        return outermost(module, args, kwargs)

    torch.nn.Module.__call__ = __call__  # type: ignore[method-assign]

    def uninstall() -> None:
        torch.nn.Module.__call__ = original  # type: ignore[method-assign]

    return uninstall


def _outermost(recorder: Recorder, original: Any, seen: Seen, module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
    """A call that may change something, draw random numbers, or is watched by a tracer."""
    popped = recorder.enter()
    try:
        if recorder.updated:
            recorder.on_manual_step()
        volatile = recorder.volatile(module)
        training = module.training
        event = recorder.event("module", module, random=volatile.draws(training))
        before = None
        if not volatile.steady:
            event.state = before = volatile.before(module)
        if recorder.observer is not None:
            recorder.tell(event, args, kwargs)
        with OnFailure(lambda: recorder.failed(event, args, kwargs)):
            result = original(module, *args, **kwargs)
        changed = volatile.after(before) if before is not None else None
        if event.random is not None:
            volatile.drawn(training, event.random)
        if isinstance(result, torch.Tensor):
            found = [result]
            pinned = result.requires_grad
        else:
            found = []
            flatten(result, found)
            pinned = any(t.requires_grad for t in found)
        pinned = pinned or bool(changed)
        recorder.done(event, args, kwargs, result, pinned)
        if changed:
            recorder.changed.extend(changed)
        if module not in recorder.roots:
            recorder.roots.append(module)
        if not event.grad_mode:
            seen(event, found, (args, kwargs))
        return result
    finally:
        recorder.leave(popped)
