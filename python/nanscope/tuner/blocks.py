"""The repeated parts of a model: what may be checkpointed one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from torch import nn

CONTAINERS = (nn.ModuleList, nn.Sequential, nn.ModuleDict)


def blocks(roots: Iterable[nn.Module]) -> list[nn.Module]:
    """Modules of one class beside each other, at least two of them: children of a container, or where no container has any, of
    any module. A block lies in no other."""
    roots = list(roots)
    found: dict[int, nn.Module] = {}
    for root in roots:
        _visit(root, CONTAINERS, found)
    if not found:
        for root in roots:
            _visit(root, (nn.Module,), found)
    return list(found.values())


def _visit(module: nn.Module, within: tuple[type[nn.Module], ...], found: dict[int, nn.Module]) -> None:
    children = list(module.children())
    alike = Counter(type(child) for child in children) if isinstance(module, within) else Counter[type[nn.Module]]()
    for child in children:
        if alike[type(child)] > 1 and _whole(child):
            found[id(child)] = child
        else:
            _visit(child, within, found)


def _whole(module: nn.Module) -> bool:
    """Whether a module is more than one layer of torch: run again, a single layer keeps as much as it saves."""
    if next(module.parameters(), None) is None:
        return False
    return next(module.children(), None) is not None or not type(module).__module__.startswith("torch.nn.")
