"""Calls of outermost modules: each is one opaque event."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.event import Event
from nanscope.capture.failure import OnFailure, Ours
from nanscope.capture.recorder import Recorder, flatten

Seen = Callable[[Event, list[torch.Tensor], Any], None]


def install(recorder: Recorder, seen: Seen) -> Callable[[], None]:
    """Patches `nn.Module.__call__`. `seen(event, tensors, arguments)` is told of each outermost call
    that succeeded without a graph."""
    original = torch.nn.Module.__call__
    other = functools.partial(_outermost, recorder, original, seen)
    outermost = _core.Modules(recorder, original, other, seen, vars(torch.compiler), torch.compiler.is_compiling)

    # A constant to torch.compile, which then sees nothing of ours but a first argument named as torch's own.
    compiles: Callable[[], bool] = torch.compiler.is_dynamo_compiling

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # torch.compile wants a function
        if compiles() or recorder.depth or not recorder.live():  # inner modules leave here: one frame and one test
            return original(self, *args, **kwargs)
        return outermost(self, args, kwargs)

    def inline(self: Any, *args: Any, **kwargs: Any) -> Any:  # as `_torch_s_own` goes on, without a frame more
        if compiles() or recorder.depth or not recorder.live():
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        return outermost(self, args, kwargs)

    stand_in = inline if _same_code(original, _torch_s_own) else __call__
    torch.nn.Module.__call__ = functools.wraps(original)(stand_in)  # type: ignore[method-assign]

    def uninstall() -> None:
        torch.nn.Module.__call__ = original  # type: ignore[method-assign]

    return uninstall


def _torch_s_own(self: Any, *args: Any, **kwargs: Any) -> Any:
    """What torch's `Module.__call__` does from 2.1 on."""
    if self._compiled_call_impl is not None:
        return self._compiled_call_impl(*args, **kwargs)
    else:
        return self._call_impl(*args, **kwargs)


def _same_code(one: Any, other: Any) -> bool:
    codes = [getattr(function, "__code__", None) for function in (one, other)]
    told = [code and (code.co_code, code.co_consts[1:], code.co_names, code.co_varnames) for code in codes]
    return told[0] is not None and told[0] == told[1]


def _outermost(recorder: Recorder, original: Any, seen: Seen, module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
    """A call that may change something, draw random numbers, or is watched by a tracer."""
    popped = recorder.enter()
    try:
        if recorder.updated:
            recorder.on_manual_step()
        event = None
        with Ours(recorder):
            volatile = recorder.volatile(module)
            training = module.training
            before = None if volatile.steady else volatile.before(module)
            event = recorder.event("module", module, random=volatile.draws(training))
            event.state = before
            if recorder.observer is not None:
                recorder.tell(event, args, kwargs)
        if event is None:
            return original(module, *args, **kwargs)
        with OnFailure(lambda: recorder.failed(event, args, kwargs)):
            result = original(module, *args, **kwargs)
        with Ours(recorder):
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
