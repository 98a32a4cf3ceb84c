"""Tensors as a few integers that two ranks can compare."""

from __future__ import annotations

from typing import Any

import torch

from nanscope import _core

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
CHUNK = 1 << 24  # elements of a device tensor that are widened at once
SAMPLED_TENSORS = 16
SAMPLED_VALUES = 4  # of each of those
_WRAP = (1 << 64) - 1

Imprint = list[int]  # three


def imprints(tensors: list[Any]) -> list[Imprint | None]:
    """One for each tensor; `None` for `None` and for what cannot be read. Synchronises a device."""
    there = [t.detach() if t is not None and is_readable(t) else None for t in tensors]
    found = iter(_core.imprints([t for t in there if t is not None]))
    return [None if t is None else _listed(next(found)) or _elsewhere(t) for t in there]


def is_readable(tensor: torch.Tensor) -> bool:
    """Whether a tensor is one block of real values: not sparse, complex, empty, or without memory."""
    plain = tensor.layout is torch.strided and not tensor.is_meta
    return plain and not tensor.is_complex() and tensor.numel() > 0


def _listed(found: tuple[int, int, int] | None) -> Imprint | None:
    """As it comes back from JSON."""
    return None if found is None else list(found)


def _elsewhere(tensor: torch.Tensor) -> Imprint | None:
    """The same on a device, in integers only: a maximum would drop a NaN, and a sum of floats its last bits."""
    if tensor.is_cpu:
        return None
    kind = INTEGERS.get(tensor.element_size())
    if kind is None:
        return None
    words = tensor.contiguous().reshape(-1).view(kind)
    mask = (1 << (8 * tensor.element_size())) - 1 if tensor.element_size() < 8 else -1
    parts = []
    for start in range(0, words.numel(), CHUNK):
        wide = words[start : start + CHUNK].to(torch.int64) & mask
        place = torch.arange(start + 1, start + 1 + wide.numel(), device=wide.device)
        # In torch since 2.9; without it a single element that differs is not named.
        xor = torch.hash_tensor(wide).view(torch.int64) if hasattr(torch, "hash_tensor") else wide.new_zeros(())
        parts.append(torch.stack([xor.reshape(()), wide.sum(), (wide * place).sum()]))
    whole = [0, 0, 0]
    for bits, total, weighted in torch.stack(parts).tolist():  # synchronises
        whole = [whole[0] ^ (bits & _WRAP), whole[1] + total, whole[2] + weighted]
    return [number & _WRAP for number in whole]


def single(one: Imprint, other: Imprint, elements: int) -> tuple[int, int] | None:
    """`(row-major index, bits)` of the only element in which two tensors differ; `None` where it is not only one."""
    return _core.single((one[0], one[1], one[2]), (other[0], other[1], other[2]), elements)


def samples(tensors: list[Any]) -> list[float]:
    """Some values of the first tensors, from the same positions on every rank."""
    found: list[float] = []
    for tensor in [t for t in tensors if t is not None and is_readable(t)][:SAMPLED_TENSORS]:
        flat = tensor.detach().reshape(-1)
        found += flat[:: max(flat.numel() // SAMPLED_VALUES, 1)][:SAMPLED_VALUES].double().tolist()
    return found
