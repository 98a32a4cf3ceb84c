"""Library functions that are one opaque event: checkpointing, gradient clipping, functional calls, custom autograd functions."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import torch

from nanscope.capture.failure import OnFailure, Ours
from nanscope.capture.recorder import Recorder, flatten

# Where each lives, and where else torch itself has bound the same function.
OPAQUE = (
    ("torch.utils.checkpoint", "checkpoint", ()),
    ("torch.utils.checkpoint", "checkpoint_sequential", ()),
    ("torch.nn.utils.clip_grad", "clip_grad_norm_", ("torch.nn.utils",)),
    ("torch.nn.utils.clip_grad", "clip_grad_value_", ("torch.nn.utils",)),
    ("torch.nn.utils.clip_grad", "clip_grad_norm", ("torch.nn.utils",)),
    ("torch.nn.utils.stateless", "functional_call", ("torch.nn.utils.stateless",)),
    ("torch._functorch.functional_call", "functional_call", ("torch.func",)),
)
TRANSFORMS = ("grad", "grad_and_value", "vmap", "jacrev", "jacfwd", "hessian")
_PINNED = {"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"}


Clipped = Callable[[list[torch.Tensor], float, torch.Tensor], None]


def install(recorder: Recorder, clipped: Clipped) -> Callable[[], None]:
    """Wraps each function of `OPAQUE` and `autograd.Function.apply`. `clipped(parameters, max_norm, norm)` is told what
    `clip_grad_norm_` has found in the 2-norm."""
    undo: list[Callable[[], None]] = []
    for home, name, others in OPAQUE:
        try:
            module = importlib.import_module(home)
        except ImportError:  # not in this version of torch
            continue
        original = getattr(module, name, None)
        if original is None:
            continue
        wrapped = _wrap(recorder, original, name in _PINNED, _told(clipped) if name == "clip_grad_norm_" else None)
        for where in (home, *others):
            target = sys.modules.get(where) or importlib.import_module(where)
            if getattr(target, name, None) is original:
                setattr(target, name, wrapped)
                undo.append(functools.partial(setattr, target, name, original))
    undo.append(_install_apply(recorder))
    undo += _install_factories(recorder)

    def uninstall() -> None:
        for step in undo:
            step()

    return uninstall


def _install_factories(recorder: Recorder) -> list[Callable[[], None]]:
    """`torch.compile` and the transforms of `torch.func` return functions; a call of such a function is one event."""
    undo: list[Callable[[], None]] = []
    homes = [
        (torch, "compile"),
        *((torch.func, name) for name in TRANSFORMS if hasattr(torch.func, name)),
        (torch, "vmap"),
    ]
    for home, name in homes:
        original = getattr(home, name)

        @functools.wraps(original)
        def factory(*args: Any, __original: Any = original, **kwargs: Any) -> Any:
            made = __original(*args, **kwargs)
            if isinstance(made, torch.nn.Module) or not callable(made) or isinstance(made, type):
                return made
            if not args:  # used as `@torch.compile(...)`: what it returns makes the function
                return lambda function: _wrap(recorder, made(function))
            return _wrap(recorder, made)

        setattr(home, name, factory)
        undo.append(functools.partial(setattr, home, name, original))
    return undo


def _told(clipped: Clipped) -> Callable[..., None]:
    """`clipped`, with the result and the arguments of a call of `clip_grad_norm_`."""

    def told(norm: Any, parameters: Any, max_norm: Any, norm_type: Any = 2.0, *_: Any, **__: Any) -> None:
        # The norm of sharded gradients is a tensor of its own kind: this rank's part, whose value takes a collective.
        whole = type(norm) is torch.Tensor
        if whole and norm_type == 2.0 and type(parameters) is list and type(max_norm) in (int, float):
            clipped(parameters, float(max_norm), norm)

    return told


def _wrap(recorder: Recorder, original: Any, always: bool = False, told: Callable[..., None] | None = None) -> Any:
    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not recorder.live():
            return original(*args, **kwargs)
        if always and args and not isinstance(args[0], torch.Tensor):
            args = (list(args[0]), *args[1:])  # a generator of parameters can be read once only
        return record(recorder, original, args, kwargs, always, told)

    return wrapper


def record(
    recorder: Recorder,
    function: Any,
    args: Any,
    kwargs: Any,
    always: bool = False,
    told: Callable[..., None] | None = None,
) -> Any:
    """Calls `function` as one opaque event; it is pinned if a result needs a gradient, or `always`. `told` gets the result and
    the arguments."""
    popped = recorder.enter()
    try:
        if recorder.updated or (recorder.backward_done and recorder.renewed(args, kwargs)):
            recorder.on_manual_step()
        event = None
        with Ours(recorder):
            event = recorder.event("call", function, random=not always)  # clipping draws no random numbers
            recorder.tell(event, args, kwargs)
        if event is None:
            return function(*args, **kwargs)
        with OnFailure(lambda: recorder.failed(event, args, kwargs)):
            result = function(*args, **kwargs)
        with Ours(recorder):
            found: list[torch.Tensor] = []
            flatten(result, found)
            pinned = always or any(t.requires_grad for t in found)
            if always and args and type(args[0]) is list and not recorder.made_one_of(args[0]):
                # Only what lies in `grad` of these is read, and that is no tensor from outside.
                event.args, event.kwargs = args, kwargs
                recorder.pin(event)
                recorder.outputs(event, result)
            else:
                recorder.done(event, args, kwargs, result, pinned)
            if told is not None:
                told(result, *args, **kwargs)
        return result
    finally:
        recorder.leave(popped)


def _install_apply(recorder: Recorder) -> Callable[[], None]:
    cls = torch.autograd.Function
    original = cls.__dict__["apply"]

    def apply(kind: Any, *args: Any, **kwargs: Any) -> Any:
        bound = original.__get__(None, kind)
        if not recorder.live():
            return bound(*args, **kwargs)
        return record(recorder, bound, args, kwargs)

    cls.apply = classmethod(apply)  # type: ignore[method-assign, assignment]

    def uninstall() -> None:
        cls.apply = original  # type: ignore[method-assign]

    return uninstall
