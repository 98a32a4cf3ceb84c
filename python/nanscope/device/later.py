"""Steps on a device, judged without waiting for it: what is found is read at the next step, by when it has long been there, and the
device itself leaves a bad update out.

Torch's fused optimizers make no update where `optimizer.found_inf` holds 1, which is how `GradScaler` tells them
(https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler); where it holds 0 the update is the same to the bit.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from nanscope import _core, signals
from nanscope.capture.event import Event, Tape

Tensor = torch.Tensor
DEVICES = {"cuda"}  # where a copy to the host can be waited for by itself


def scaled_by(optimizer: Any) -> tuple[Tensor, Tensor | None] | None:
    """What a `GradScaler` has told a fused optimizer for the step to come: whether to leave it out, and the factor that is still
    in the gradients (`None`: none). `None` for a step without."""
    found = getattr(optimizer, "found_inf", None)
    if not isinstance(found, Tensor) or not getattr(optimizer, "_step_supports_amp_scaling", False):
        return None
    factor = getattr(optimizer, "grad_scale", None)
    return found, factor if isinstance(factor, Tensor) else None


def now(optimizer: Any, look: _core.Look, loss: Tensor | None) -> tuple[signals.Elsewhere | None, float | None]:
    """What a look at an optimizer could not read, and a loss on a device, in one transfer. Waits for the device."""
    elsewhere = signals.Elsewhere(optimizer, look.unread) if look.unread else None
    value = None
    if elsewhere is not None and elsewhere.packed is not None:
        packed = elsewhere.packed
        if type(loss) is Tensor and loss.is_floating_point():
            packed = torch.cat([packed, loss.reshape(1).to(packed.device, packed.dtype)])
        numbers = packed.tolist()
        elsewhere.read(numbers[: 2 * elsewhere.count])
        value = numbers[-1] if len(numbers) > 2 * elsewhere.count else None
    if loss is not None and value is None:
        value = loss.item()
    return elsewhere, value


def can_wait(optimizer: Any, look: _core.Look) -> bool:
    """Whether a step can be judged later: all gradients lie on one device, and the optimizer leaves an update out by itself.
    Whether it is `signals.vouched` for is not asked here."""
    if not look.unread or look.gradients or not getattr(optimizer, "_step_supports_amp_scaling", False):
        return False
    groups = optimizer.param_groups
    gradients = [p.grad for p, _ in look.unread]
    first = gradients[0]
    return (
        all(group.get("fused") for group in groups)
        and first.device.type in DEVICES
        and all(
            type(g) is Tensor and g.layout is torch.strided and g.device == first.device and g.dtype is first.dtype
            for g in gradients
        )
    )


class Later:
    """The signals of one step, on their way to the host from the moment this is made, on the stream that the step runs on.

    `loss` is a plain tensor of one element or `None`. Of `buffers`, which the step has changed, those that were finite before,
    as `was_finite` says, keep the update back when they are not: another may have been infinite all along. `scaled` is as of
    `scaled_by`, `scale` a GradScaler's factor, and `loss_scaled` says whether it is in the loss. `tape`, `roots` and `record` are
    set when the update was made. `gone` is called when nobody else holds the optimizer any more.
    """

    def __init__(
        self,
        optimizer: Any,
        look: _core.Look,
        step: int,
        loss: tuple[Event, Tensor] | None,
        buffers: list[Tensor],
        was_finite: Callable[[Tensor], bool | None],
        scaled: tuple[Tensor, Tensor | None] | None,
        scale: Tensor | None,
        loss_scaled: bool,
        gone: Callable[[], None],
    ) -> None:
        self.look, self.step, self.loss_scaled = look, step, loss_scaled
        self.optimizer = weakref.ref(optimizer, lambda _: gone())
        self.tape: Tape
        self.roots: list[Any] = []
        self.record: Record
        self.event = None if loss is None else loss[0]
        self.root = None if loss is None else loss[1]
        self.elsewhere = signals.Elsewhere(optimizer, list(look.unread or ()))
        packed = self.elsewhere.packed
        assert packed is not None
        device = packed.device

        def row(value: Tensor | None) -> Tensor:
            empty = torch.zeros(1, dtype=torch.float64, device=device)
            return empty if value is None else value.detach().reshape(1).to(device, torch.float64)

        judged = row(None if loss is None else loss[1])
        found, factor = (row(scaled[0]), row(scaled[1])) if scaled is not None else (row(None), row(None))
        # Gradients may have become bad after a scaler has looked at them.
        peaks = packed[self.elsewhere.count :]
        unsound = judged.isnan() if loss_scaled else ~torch.isfinite(judged)
        bad = (found != 0) | unsound | ~torch.isfinite(peaks).all()
        parts = [judged, found, factor, row(scale)]
        self.buffers = [(b, values) for b in buffers if (values := signals.values_of(b)) is not None]
        if self.buffers:
            held = signals.measured([values for _, values in self.buffers])[len(self.buffers) :].to(device)
            parts.append(held)
            watched = torch.tensor([was_finite(b) is True for b, _ in self.buffers]).to(device, non_blocking=True)
            bad = bad | (watched & ~torch.isfinite(held)).any()
        whole = torch.cat([packed, bad.to(torch.float64), *parts])
        self._event: Any = None
        if device.type == "cuda":
            self._host = torch.empty(whole.shape, dtype=whole.dtype, pin_memory=True)
            self._host.copy_(whole, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(device))
        else:
            self._host = whole.to("cpu", copy=True)
        self.running = True
        self._had = getattr(optimizer, "found_inf", None)
        optimizer.found_inf = bad.reshape(()).to(torch.float32)  # last: what fails before has changed nothing

    def is_sound(self, loss: float) -> bool:
        """Whether the loss is one to go on with. Infinite times a scale it may be finite without."""
        return not math.isnan(loss) and (self.loss_scaled or math.isfinite(loss))

    def stepped(self, optimizer: Any) -> None:
        """The update is over. The optimizer is as it was before."""
        if self.running:
            self.running = False
            if self._had is None:
                del optimizer.found_inf
            else:
                optimizer.found_inf = self._had

    def read(self) -> Read:
        """Waits for the copy, which is a step old."""
        if self._event is not None:
            self._event.synchronize()
        numbers = self._host.tolist()
        count = 2 * self.elsewhere.count
        self.elsewhere.read(numbers[:count])
        left_out, loss, found, factor, scale, *peaks = numbers[count:]
        gradients = signals.Gradients(self.look, self.elsewhere, factor or 1.0)
        buffers = [(b, math.isfinite(peak)) for (b, _), peak in zip(self.buffers, peaks, strict=True)]
        return Read(gradients, None if self.event is None else loss, scale or None, buffers, found != 0, left_out != 0)


class Record(NamedTuple):
    """What else belongs into the record of a step: number of the optimizer, nanoseconds of the watch, a loss that was read before,
    and learning rate."""

    number: int
    own: int
    loss: float | None
    lr: float | None


class Read(NamedTuple):
    """What a step held: `loss` is `None` where it was read before, `scale` where there is none; `buffers` are those that it has
    changed, each with whether it is finite. `overflow` says that a `GradScaler` has left the update out, `left_out` that anybody
    has."""

    gradients: signals.Gradients
    loss: float | None
    scale: float | None
    buffers: list[tuple[Tensor, bool]]
    overflow: bool
    left_out: bool
