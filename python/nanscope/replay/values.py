"""What the ledger says of a tensor: counts, census, values at an index. All scanning is Rust's."""

from __future__ import annotations

import json
import math
from typing import Any

import torch

from nanscope import _core
from nanscope.device import measure


def number(x: float) -> Any:
    """`x` for JSON: the strings `nan`, `inf`, `-inf` where it is not finite."""
    x = float(x)
    if math.isfinite(x):
        return x
    return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"


def readable(tensor: torch.Tensor) -> torch.Tensor | None:
    """`tensor` as dense CPU memory, or `None` when it has none. Copies only what lies on another device."""
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    tensor = local(tensor)
    if tensor.layout is not torch.strided or tensor.is_meta or tensor.is_quantized:
        return None
    if tensor.is_neg() or tensor.is_conj():
        tensor = tensor.resolve_conj().resolve_neg()
    try:
        return tensor if tensor.device.type == "cpu" else tensor.detach().cpu()
    except RuntimeError:  # a wrapper without memory
        return None


def local(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a tensor that this rank holds."""
    part: torch.Tensor = getattr(tensor, "_local_tensor", tensor)
    return part


def is_elsewhere(tensor: torch.Tensor) -> bool:
    """True for memory of a device, laid out with strides, of a type that torch computes with."""
    tensor = local(tensor)
    elsewhere = tensor.device.type not in ("cpu", "meta") and tensor.layout is torch.strided and not tensor.is_quantized
    return elsewhere and (tensor.is_complex() or (tensor.is_floating_point() and tensor.dtype.itemsize > 1))


def counts(tensor: torch.Tensor) -> tuple[int, int, int, float | None] | None:
    """`(nan, +inf, -inf, largest finite magnitude)`; `None` for integers and what cannot be read."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    if is_elsewhere(tensor):
        return measure.counts(local(tensor))
    dense = readable(tensor)
    return None if dense is None else _core.counts(dense)


def census(tensor: torch.Tensor) -> Any:
    """The census as plain data; `None` for what cannot be read."""
    if tensor.is_cuda and (found := _on_device(tensor)) is not None:
        return found
    dense = readable(tensor)
    text = None if dense is None else _core.census(dense)
    return None if text is None else json.loads(text)


def _on_device(tensor: torch.Tensor) -> Any:
    """The same, computed where the tensor lies; `None` where there is no Triton, or no kernel for it: then it is copied."""
    tensor = local(tensor)
    if tensor.layout is not torch.strided:
        return None
    try:
        from nanscope.device.census import census

        return census(tensor)
    except Exception:  # noqa: BLE001 - no compiler for it on this machine, no memory left
        return None


def unravel(index: int, shape: Any) -> list[int]:
    """Row-major linear index as a list of coordinates."""
    out = []
    for size in reversed(shape):
        out.append(index % size)
        index //= size
    return out[::-1]


def at(tensor: torch.Tensor, index: list[int], shape: Any) -> tuple[list[int], float] | None:
    """Value of `tensor` at `index` of a result of `shape` that it was broadcast to; `None` where shapes say nothing."""
    mine = list(tensor.shape)
    if len(mine) > len(index):
        return None
    own = []
    for size, wanted, position in zip(mine[::-1], list(shape)[::-1], index[::-1], strict=False):
        if size == wanted:
            own.append(position)
        elif size == 1:
            own.append(0)
        else:
            return None
    own.reverse()
    dense = local(tensor) if is_elsewhere(tensor) else readable(tensor)
    if dense is None:
        return None
    value = dense[tuple(own)].item()
    return own, abs(value) if isinstance(value, complex) else float(value)
