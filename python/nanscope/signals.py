"""The cheap numbers read once a step. Nothing here decides what to do about them."""

from __future__ import annotations

import math
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.event import Tape
from nanscope.capture.recorder import flatten
from nanscope.capture.state import has_values

Tensor = torch.Tensor
GRADIENT_VOUCHED = 1e15  # below this a float32 optimizer with a sane eps cannot leave float32 in one step
_SECOND_MOMENT = {"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "SparseAdam"}
_PLAIN = {"SGD", "ASGD", "Rprop"}
_WIDE = {torch.float32, torch.float64, torch.bfloat16}  # all reach further than 1e38


class Gradients:
    """What `_core.look` found, completed by what lies elsewhere: `bad` is the parameter with the first gradient that is not
    finite, `largest` and `norm` are over finite elements. `scale` is a factor that is still in the gradients."""

    __slots__ = ("bad", "gradients", "largest", "limits", "lr", "norm", "settings", "squares", "zeros")

    def __init__(self, look: _core.Look, elsewhere: Elsewhere | None = None, scale: float = 1.0) -> None:
        self.bad: Tensor | None = look.bad
        self.largest = look.largest
        self.squares = list(look.squares)
        self.zeros, self.gradients = list(look.zeros), look.gradients
        self.lr, self.settings, self.limits = look.lr, look.settings, look.limits
        if elsewhere is not None:
            if self.bad is None:
                self.bad = elsewhere.bad
            self.largest = max(self.largest, elsewhere.largest)
            for group, squares in elsewhere.squares:
                self.squares[group] += squares
            self.zeros = sorted(self.zeros + elsewhere.zeros)
            self.gradients += elsewhere.count
        if scale != 1.0:
            self.largest /= scale
            self.squares = [x / scale / scale for x in self.squares]
        self.norm = math.sqrt(math.fsum(self.squares))


class Elsewhere:
    """Gradients that the CPU kernel cannot read (device memory, sparse ones), measured where they lie: `packed` is on its way
    to the host until `read` is called."""

    def __init__(self, optimizer: Any, unread: list[tuple[Tensor, int]]) -> None:
        self.owners: list[tuple[Tensor, int]] = []
        held: list[Tensor] = []
        for parameter, group in unread:
            if parameter.grad is not None and (values := values_of(parameter.grad)) is not None:
                self.owners.append((parameter, group))
                held.append(values)
        self.count = len(held)
        self.packed = None if not held else measured(held)
        self._places = {id(p): i for i, p in enumerate(p for g in optimizer.param_groups for p in g["params"])}
        self.bad: Tensor | None = None
        self.kind = "finite"  # of the gradient of `bad`
        self.largest = 0.0
        self.squares: list[tuple[int, float]] = []  # of a group, one entry a gradient
        self.zeros: list[int] = []

    def read(self, numbers: list[float]) -> None:
        """Takes `packed` as it has come to the host: norms, then largest magnitudes."""
        norms, peaks = numbers[: self.count], numbers[self.count :]
        for (parameter, group), norm, peak in zip(self.owners, norms, peaks, strict=True):
            if not math.isfinite(peak):
                if self.bad is None:
                    self.bad, self.kind = parameter, "nan" if math.isnan(peak) else "inf"
                continue
            self.largest = max(self.largest, peak)
            if math.isfinite(norm):
                self.squares.append((group, norm * norm))
            if peak == 0 and not hasattr(parameter.grad, "to_local"):  # of one that is sharded, other ranks hold more
                self.zeros.append(self._places[id(parameter)])


def first_bad(tensors: list[Tensor]) -> Tensor | None:
    """The first tensor that holds a value which is not finite."""
    if not tensors:
        return None
    result = _core.scan(tensors)
    if result.first_bad is not None:
        return tensors[result.first_bad]
    return _elsewhere([tensors[i] for i in result.unread]) if result.unread else None


def values_of(tensor: Tensor) -> Tensor | None:
    """The numbers that a tensor holds on this rank, as one dense tensor; `None` where it holds none."""
    if not has_values(tensor):
        return None
    if tensor.layout is torch.sparse_coo:
        value = tensor._values()
    elif hasattr(tensor, "to_local"):
        value = tensor.to_local()
    else:
        value = tensor
    dense = value.layout is torch.strided and (value.is_floating_point() or value.is_complex()) and value.numel()
    return value.detach() if dense else None


def measured(tensors: list[Tensor]) -> Tensor:
    """Norms and then largest magnitudes, float64, on the device of the first; NaN and infinities show in the latter."""
    rows = [*torch._foreach_norm(tensors, 2.0), *torch._foreach_norm(tensors, math.inf)]
    if all(row.dtype is rows[0].dtype and row.device == rows[0].device for row in rows):
        return torch.stack(rows).to(torch.float64)
    return torch.stack([row.to(rows[0].device, torch.float64) for row in rows])


def _elsewhere(tensors: list[Tensor]) -> Tensor | None:
    """The first that holds a bad value, of what the CPU kernel cannot read. Synchronises the device once."""
    owners = [(t, values) for t in tensors if (values := values_of(t)) is not None]
    if not owners:
        return None
    peaks = measured([values for _, values in owners])[len(owners) :].tolist()  # synchronises
    return next((t for (t, _), peak in zip(owners, peaks, strict=True) if not math.isfinite(peak)), None)


def kind_of(tensor: Tensor) -> str:
    """`nan`, `inf` or `finite`; of a tensor that is spread over ranks, what this one holds."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    if bool(torch.isnan(tensor).any()):
        return "nan"
    return "finite" if bool(torch.isfinite(tensor).all()) else "inf"


def was_bad(buffer: Tensor, tape: Tape) -> bool:
    """True when a buffer was not finite before this step already (an observer's initial range, an unfilled memory)."""
    for event in tape.events:
        for tensor, copy in event.state.buffers if event.state is not None else ():
            if tensor is buffer:
                return kind_of(copy) != "finite"
    return False


def scalar(tensor: Tensor) -> float | None:
    """Value of a one-element floating tensor; `None` for others."""
    if tensor.numel() != 1 or not tensor.is_floating_point() or not has_values(tensor):
        return None
    return float(tensor.detach().item())


def vouched(optimizer: Any) -> bool:
    """True when gradients below `GRADIENT_VOUCHED` cannot make this optimizer write a value that is not finite."""
    kind = type(optimizer)
    if not kind.__module__.startswith("torch.optim"):
        return False
    name = kind.__name__
    if name not in _SECOND_MOMENT and name not in _PLAIN:
        return False
    for group in optimizer.param_groups:
        lr = group.get("lr", 0.0)
        if (
            isinstance(lr, Tensor)
            or not abs(lr) < _core.RATE_SANE
            or not abs(group.get("weight_decay", 0.0)) < _core.RATE_SANE
        ):
            return False
        if name in _SECOND_MOMENT and not group.get("eps", 1.0) >= _core.EPS_SANE:
            return False
        if any(p.dtype not in _WIDE for p in group["params"]):
            return False
    return True


def optimizer_tensors(optimizer: Any) -> list[Tensor]:
    """Floating parameters and state of an optimizer."""
    found = [p for group in optimizer.param_groups for p in group["params"]]
    for state in optimizer.state.values():
        if isinstance(state, dict):
            found += [v for v in state.values() if isinstance(v, Tensor)]
    return [t for t in found if t.is_floating_point() and not t.is_meta]


def learning_rate(optimizer: Any) -> float | None:
    """Learning rate of the first group; `None` when it is a tensor on a device."""
    lr = optimizer.param_groups[0].get("lr")
    if isinstance(lr, Tensor):
        return float(lr) if lr.device.type == "cpu" else None
    return None if lr is None else float(lr)


def finite_in(arguments: Any) -> bool:
    """False when the program itself has fed NaN: it may well know what to do with what comes out."""
    found: list[Tensor] = []
    flatten(arguments, found)
    return first_bad([t for t in found if t.is_floating_point()]) is None


def evaluated_nan(found: list[Tensor]) -> bool:
    """Whether the first floating result holds nothing but what is not finite, NaN among it."""
    for tensor in found:
        if tensor.is_floating_point() and tensor.numel() and tensor.is_cpu:
            flat = tensor.detach().reshape(-1) if tensor.is_contiguous() else tensor.detach()
            # One element first: a healthy evaluation pays for no more.
            first = flat[(0,) * flat.dim()].item() if flat.dim() else flat.item()
            return not math.isfinite(first) and not bool(torch.isfinite(flat).any()) and bool(torch.isnan(flat).any())
    return False
