"""`GradScaler`: an infinite gradient under dynamic loss scaling is normal, and a skipped step is still a step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from torch.amp.grad_scaler import GradScaler

from nanscope import _core
from nanscope.capture.recorder import Recorder


class Scaled(Protocol):
    """What is told of a scaler in use."""

    def scaled(self, scaler: Any, outputs: Any) -> None: ...
    def left_out(self, optimizer: Any) -> None: ...


def install(recorder: Recorder, watch: Scaled) -> Callable[[], None]:
    """Patches `scale`, `unscale_`, `step` and `update` of `GradScaler`."""
    scale, unscale, step, update = GradScaler.scale, GradScaler.unscale_, GradScaler.step, GradScaler.update

    @functools.wraps(scale)
    def scaled(self: Any, outputs: Any) -> Any:
        if recorder.live() and self.is_enabled():
            watch.scaled(self, outputs)
        return scale(self, outputs)

    def told(self: Any, optimizer: Any) -> Any:
        popped = recorder.enter()
        try:
            event = recorder.event("call", unscale)
            event.args = (self, optimizer)
            recorder.pin(event)
            recorder.tell(event, event.args, {})
            return unscale(self, optimizer)
        finally:
            recorder.leave(popped)

    @functools.wraps(step)
    def stepped(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if not recorder.live() or not self.is_enabled():
            return step(self, optimizer, *args, **kwargs)
        before = recorder.steps_taken
        if _unscales_itself(self, optimizer):
            self.unscale_(optimizer)  # as `step` would: here it is an event of the tape
        result = step(self, optimizer, *args, **kwargs)
        if recorder.steps_taken == before:
            watch.left_out(optimizer)
        return result

    @functools.wraps(update)
    def updated(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A new scale may come from the program's own tensors. Else there is nothing in it to record.
        if args or kwargs or not recorder.live():
            return update(self, *args, **kwargs)
        popped = recorder.enter()
        try:
            return update(self)
        finally:
            recorder.leave(popped)

    GradScaler.scale = scaled  # type: ignore[method-assign]
    GradScaler.unscale_ = functools.update_wrapper(_core.Noted(recorder, unscale, told), unscale)  # type: ignore
    GradScaler.step = stepped  # type: ignore[method-assign]
    GradScaler.update = updated  # type: ignore[method-assign]

    def uninstall() -> None:
        GradScaler.scale = scale  # type: ignore[method-assign]
        GradScaler.unscale_ = unscale  # type: ignore[method-assign]
        GradScaler.step = step  # type: ignore[method-assign]
        GradScaler.update = update  # type: ignore[method-assign]

    return uninstall


def _unscales_itself(scaler: Any, optimizer: Any) -> bool:
    if getattr(optimizer, "_step_supports_amp_scaling", False):
        return False
    stage = scaler._per_optimizer_states[id(optimizer)]["stage"]
    return bool(stage.name == "READY")
