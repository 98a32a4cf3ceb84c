"""The cheap numbers read once a step. Nothing here decides what to do about them."""

from __future__ import annotations

import math
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.recorder import flatten

Tensor = torch.Tensor
GRADIENT_VOUCHED = 1e15  # below this a float32 optimizer with a sane eps cannot leave float32 in one step
EPS_VOUCHED = 1e-30
_SECOND_MOMENT = {"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "SparseAdam"}
_PLAIN = {"SGD", "ASGD", "Rprop"}


class Gradients:
    """What `_core.look` found, completed by what only torch can read: `bad` is the parameter with the first gradient that is
    not finite, `largest` and `norm` are over finite elements."""

    __slots__ = ("bad", "gradients", "largest", "lr", "norm", "settings", "squares", "zeros")

    def __init__(self, seen: _core.Look, unread: list[tuple[Tensor, int]]) -> None:
        owners = {id(p.grad): p for p, _ in unread}
        bad, largest, _ = _elsewhere([p.grad for p, _ in unread if p.grad is not None])
        self.bad: Tensor | None = seen.bad if bad is None or seen.bad is not None else owners[id(bad)]
        self.largest = max(seen.largest, largest)
        self.squares = list(seen.squares)
        for group in {g for _, g in unread}:
            self.squares[group] += _elsewhere([p.grad for p, g in unread if g == group and p.grad is not None])[2]
        self.norm = math.sqrt(math.fsum(self.squares))
        self.gradients, self.zeros = seen.gradients, seen.zeros
        self.lr, self.settings = seen.lr, seen.settings


def first_bad(tensors: list[Tensor]) -> Tensor | None:
    """The first tensor that holds a value which is not finite."""
    if not tensors:
        return None
    result = _core.scan(tensors)
    if result.first_bad is not None:
        return tensors[result.first_bad]
    return _elsewhere([tensors[i] for i in result.unread])[0] if result.unread else None


def _elsewhere(tensors: list[Tensor]) -> tuple[Tensor | None, float, float]:
    """What the CPU kernel cannot read: device memory, sparse gradients. Synchronises the device once."""
    dense: list[Tensor] = []
    owner: list[Tensor] = []
    for tensor in tensors:
        if tensor.is_meta:
            continue
        if tensor.layout is torch.sparse_coo:
            value = tensor._values()
        elif hasattr(tensor, "to_local"):
            value = tensor.to_local()
        else:
            value = tensor
        if value.layout is torch.strided and (value.is_floating_point() or value.is_complex()) and value.numel():
            dense.append(value.detach())
            owner.append(tensor)
    if not dense:
        return None, 0.0, 0.0
    norms = torch.stack([n.to(dense[0].device, torch.float64) for n in torch._foreach_norm(dense, 2.0)])
    peaks = torch.stack([n.to(dense[0].device, torch.float64) for n in torch._foreach_norm(dense, math.inf)])
    both = torch.stack([norms, peaks]).cpu()  # synchronises
    good = torch.isfinite(both[1])
    bad = None if bool(good.all()) else owner[int((~good).nonzero()[0])]
    finite = both[:, good & torch.isfinite(both[0])]
    if not finite.shape[1]:
        return bad, 0.0, 0.0
    return bad, float(finite[1].max()), float(finite[0].square().sum())


def kind_of(tensor: Tensor) -> str:
    """`nan`, `inf` or `finite`; of a tensor that is spread over ranks, what this one holds."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    if bool(torch.isnan(tensor).any()):
        return "nan"
    return "finite" if bool(torch.isfinite(tensor).all()) else "inf"


def scalar(tensor: Tensor) -> float | None:
    """Value of a one-element floating tensor; `None` for others."""
    if tensor.numel() != 1 or not tensor.is_floating_point() or tensor.is_meta:
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
        if isinstance(lr, Tensor) or not abs(lr) < 1e6 or not abs(group.get("weight_decay", 0.0)) < 1e6:
            return False
        if name in _SECOND_MOMENT and not group.get("eps", 1.0) >= EPS_VOUCHED:
            return False
        if any(p.dtype is not torch.float32 and p.dtype is not torch.float64 for p in group["params"]):
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
