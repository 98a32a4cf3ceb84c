"""Optimizer steps and `zero_grad`, through torch's own global hooks where they exist."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from nanscope import _core
from nanscope.capture.recorder import Recorder


class Steps(Protocol):
    """What is told of a step: before it (may raise, or return True to leave the update out) and after it."""

    def before_step(self, optimizer: Any) -> bool: ...
    def after_step(self, optimizer: Any, skipped: bool) -> None: ...
    def zeroed(self) -> None: ...
    def loaded(self, optimizer: Any) -> None: ...


def hooks(recorder: Recorder, steps: Steps) -> tuple[Any, Any, Callable[[], None]]:
    """What is called before and after a step that is not calm, and when it raises: torch has no hook for that."""
    running: list[tuple[Any, bool, list[tuple[Any, Any]] | None]] = []

    def pre(optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not recorder.live():
            return None
        closure = args[1] if len(args) > 1 else kwargs.get("closure")  # args[0] is the optimizer
        if closure is not None:
            # Each evaluation of the closure is a step of its own: parameters have moved since the last.
            wrapped = _closure(recorder, steps, optimizer, closure)
            recorder.enter_closure(optimizer)
            return ((args[0], wrapped, *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, "closure": wrapped})
        popped = recorder.enter()
        hidden = None
        try:
            if steps.before_step(optimizer):
                hidden = [(p, p.grad) for group in optimizer.param_groups for p in group["params"]]
                for p, _ in hidden:
                    p.grad = None  # torch's optimizers pass over a parameter without a gradient
        except BaseException:
            recorder.leave(popped)
            raise
        running.append((optimizer, popped, hidden))
        return None

    def post(optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if recorder.closure_of is optimizer:
            recorder.leave_closure()
            steps.after_step(optimizer, False)
            return
        if not running or running[-1][0] is not optimizer:
            return
        _, popped, hidden = running.pop()
        try:
            for p, grad in hidden or ():
                p.grad = grad
            steps.after_step(optimizer, hidden is not None)
        finally:
            recorder.leave(popped)

    def raised() -> None:
        if recorder.closure_of is not None:
            recorder.leave_closure()
        elif running:
            _, popped, hidden = running.pop()
            for p, grad in hidden or ():
                p.grad = grad
            recorder.leave(popped)

    return pre, post, raised


def install(recorder: Recorder, steps: Steps, calm: _core.Calm) -> Callable[[], None]:
    """Registers the hooks and patches `zero_grad` of optimizers and modules."""
    handles = [
        register_optimizer_step_pre_hook(calm.hook_before),
        register_optimizer_step_post_hook(calm.hook_after),
    ]
    undo = [
        _new_group(recorder),
        _load(steps),
        _zero_grad(recorder, steps, Optimizer),
        _zero_grad(recorder, steps, torch.nn.Module),
    ]

    def uninstall() -> None:
        for handle in handles:
            handle.remove()
        for step in undo:
            step()

    return uninstall


def _closure(recorder: Recorder, steps: Steps, optimizer: Any, closure: Any) -> Any:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if recorder.closure_of is not optimizer:
            return closure(*args, **kwargs)
        recorder.boundary()
        recorder.resume_closure()
        try:
            result = closure(*args, **kwargs)
        finally:
            recorder.pause_closure()
        steps.before_step(optimizer)
        return result

    return wrapped


def _load(steps: Steps) -> Callable[[], None]:
    original = Optimizer.load_state_dict

    @functools.wraps(original)
    def load_state_dict(self: Any, *args: Any, **kwargs: Any) -> Any:
        steps.loaded(self)
        return original(self, *args, **kwargs)

    Optimizer.load_state_dict = load_state_dict  # type: ignore[method-assign]

    def uninstall() -> None:
        Optimizer.load_state_dict = original  # type: ignore[method-assign]

    return uninstall


def _new_group(recorder: Recorder) -> Callable[[], None]:
    """What an optimizer trains is state from outside the step, however it was made; what made it is no part of a step."""
    original = Optimizer.add_param_group

    @functools.wraps(original)
    def add_param_group(self: Any, group: dict[str, Any]) -> Any:
        recorder.optimizers_seen = True
        result = original(self, group)
        if recorder.live():
            for p in self.param_groups[-1]["params"]:
                recorder.forget(p)
            if not recorder.backward_done:
                recorder.boundary()
        return result

    Optimizer.add_param_group = add_param_group  # type: ignore[method-assign, assignment]

    def uninstall() -> None:
        Optimizer.add_param_group = original  # type: ignore[method-assign]

    return uninstall


def _zero_grad(recorder: Recorder, steps: Steps, cls: Any) -> Callable[[], None]:
    original = cls.zero_grad
    compiles = torch.compiler.is_dynamo_compiling

    @functools.wraps(original)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiles() or not recorder.live():
            return original(self, *args, **kwargs)
        popped = recorder.enter()
        try:
            # Before the first backward of a tape there is nothing that a replay would have to zero.
            if recorder.backward_done:
                steps.zeroed()
                event = recorder.event("call", original)
                event.args, event.kwargs = (self, *args), kwargs
                recorder.pin(event)
                recorder.tell(event, event.args, kwargs)
            return original(self, *args, **kwargs)
        finally:
            recorder.leave(popped)

    cls.zero_grad = zero_grad

    def uninstall() -> None:
        cls.zero_grad = original

    return uninstall
