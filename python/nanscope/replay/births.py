"""Details of an operator that gave birth to a bad value: census, operands at the bad index, float64 execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from nanscope.attention import shadow
from nanscope.replay import values
from nanscope.replay.operators import REFUSED, Operator

Tensor = torch.Tensor
COPY_MAX = 4 << 20  # elements of an in-place target that are kept for the float64 execution
_RANDOM = ("dropout", "rand", "normal", "bernoulli", "multinomial", "uniform", "exponential", "poisson")
_LINEAR = ("linalg_", "_linalg_", "inverse", "cholesky")
CONDITION_MAX = 1 << 20  # elements of matrices that are decomposed to explain


def copies(op: Operator, args: Any, kwargs: Any) -> Any:
    """Arguments with in-place targets copied, for an operator that writes; `None` otherwise."""
    if not op.writes:
        return None
    return _map(args, _copy), _map(kwargs, _copy)


def describe(
    entry: dict[str, Any],
    op: Operator,
    before: Any,
    args: Any,
    kwargs: Any,
    read: list[tuple[str, Tensor]],
    written: list[tuple[str, Tensor]],
    node: Any,
    make: Callable[[str, Tensor], dict[str, Any]],
) -> list[tuple[str, Tensor]]:
    """Adds details to `entry` if it is a birth, or the first to meet a bad value from outside. Returns all its inputs."""
    bad_out = _sum(entry["outputs"])
    bad_in = _sum(entry["inputs"])
    outside = [i for i, a in enumerate(entry["inputs"]) if "source" in a and bad(a)]
    for i in outside:
        _index(entry["inputs"][i], read[i][1])
    if not (bad_out[1] and not bad_in[1]) and not (bad_out[0] and not bad_in[0]):
        return read
    shape = index = None
    for arg, (_, tensor) in zip(entry["outputs"], written, strict=True):
        if bad(arg):
            index = _index(arg, tensor) if index is None else index
            shape = shape or list(tensor.shape)
        arg.setdefault("census", values.census(tensor))
    # An in-place target was overwritten: its old value is in `before`.
    old = dict(op.tensors(*before)) if before is not None else {}
    if node is not None:
        for name, tensor in _saved(node):
            entry["inputs"].append(make(f"saved {name}", tensor))
            read = [*read, (f"saved {name}", tensor)]
    for arg, (name, tensor) in zip(entry["inputs"], read, strict=True):
        tensor = old.get(name, tensor)
        arg["census"] = values.census(tensor)
        if arg["census"] is None:
            del arg["census"]
        found = values.at(tensor, index, shape) if index is not None else None
        if found is not None and tensor.dtype is not torch.bool:
            arg["index"], arg["value"] = found[0], values.number(found[1])
    reference = _reference(op, *(before if before is not None else (args, kwargs)))
    if reference is not None:
        entry["reference"] = reference
    return read


def bad(arg: dict[str, Any]) -> int:
    """Elements that are not finite."""
    c = arg.get("counts")
    return 0 if c is None else c["nan"] + c["posinf"] + c["neginf"]


def _sum(args: list[dict[str, Any]]) -> tuple[int, int]:
    """`(nan, bad)` over all arguments."""
    return sum(a["counts"]["nan"] for a in args if "counts" in a), sum(bad(a) for a in args)


def _index(arg: dict[str, Any], tensor: Tensor) -> list[int] | None:
    arg["census"] = values.census(tensor)
    if arg["census"] is None or arg["census"].get("first_bad") is None or tensor.is_complex():
        return None
    first = arg["census"]["first_bad"]
    if 0 < arg["counts"]["nan"] < bad(arg):  # infinities may have been meant; a NaN never is
        first = int(torch.isnan(tensor.detach()).reshape(-1).nonzero()[0])
    index = values.unravel(first, tensor.shape)
    found = values.at(tensor, index, tensor.shape)
    arg["index"] = index
    if found is not None:
        arg["value"] = values.number(found[1])
    return index


def _saved(node: Any) -> list[tuple[str, Tensor]]:
    """Tensors that the node kept from forward."""
    found = []
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except REFUSED:  # freed, or changed in place since
                continue
            if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex()):
                found.append((name.removeprefix("_saved_"), value))
    return found


def _reference(op: Operator, args: Any, kwargs: Any) -> dict[str, Any] | None:
    """The operator once more in float64 from the same inputs."""
    if any(part in op.base for part in _RANDOM):
        return None
    if op.writes and any(t.numel() > COPY_MAX for _, t in op.results(args, kwargs, None)):
        return None  # the target was not copied, and must not be written twice
    formula = shadow.formula(op.func, args, kwargs)
    if formula is not None:  # the kernel itself may be wrong, and need not take float64
        return _told(formula)
    try:
        result = op.func(*_map(args, _wide), **_map(kwargs, _wide))
    except REFUSED:  # no float64 kernel, or an argument that cannot be widened
        return None
    written = (
        op.results(_map(args, _wide), _map(kwargs, _wide), result) if not op.writes else op.results((), {}, result)
    )
    bad, largest, seen = 0, None, False
    for _, tensor in written:
        counts = values.counts(tensor)
        if counts is None or tensor.dtype not in (torch.float64, torch.complex128):
            return None
        seen = True
        bad += counts[0] + counts[1] + counts[2]
        if counts[3] is not None:
            largest = max(largest or 0.0, counts[3])
    if not seen:
        return None
    out: dict[str, Any] = {"dtype": "float64", "finite": bad == 0}
    condition = _condition(op, args)
    if condition is not None:
        out["condition"] = condition
    if largest is not None:
        out["largest"] = largest
    return out


def _told(results: list[Tensor]) -> dict[str, Any]:
    found = [counts for counts in map(values.counts, results) if counts is not None]
    out: dict[str, Any] = {"dtype": "float64", "finite": not any(nan + pos + neg for nan, pos, neg, _ in found)}
    largest = [size for *_, size in found if size is not None]
    if largest:
        out["largest"] = max(largest)
    return out


def _condition(op: Operator, args: Any) -> Any:
    """Condition number of the worst matrix that `op` was given, as JSON; `None` for what is not about matrices."""
    matrix = args[0] if args else None
    if not (op.base.startswith(_LINEAR) and isinstance(matrix, Tensor) and matrix.dim() >= 2):
        return None
    if matrix.shape[-1] != matrix.shape[-2] or not 0 < matrix.numel() <= CONDITION_MAX:
        return None
    try:
        worst = torch.linalg.cond(matrix.detach().double()).max().item()
    except (RuntimeError, TypeError):  # the decomposition does not converge, or is complex
        return None
    return values.number(worst)


def _wide(value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.is_floating_point():
            return value.double()
        return value.to(torch.complex128) if value.is_complex() else value
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return value


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) and value.numel() <= COPY_MAX else value


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_map(v, change) for v in value) if type(value) in (tuple, list) else value
    if isinstance(value, dict):
        return {k: _map(v, change) for k, v in value.items()}
    return change(value)
