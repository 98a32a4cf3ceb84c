"""Which top-level calls after backward belong to the treatment of gradients, and which to an update made by hand."""

from __future__ import annotations

from typing import Any

import torch

from nanscope.capture.event import Event, Ref, walk


def phases(events: list[Event], functional: bool = False) -> dict[int, str]:
    """Serial -> `clip` for what ends in a gradient, `optimizer` for what ends in a parameter; other events are absent.

    In a `functional` program, one without an optimizer, what ends in a new leaf is an update, too.
    """
    first = next((e.serial for e in events if e.kind in ("backward", "grad")), None)
    found: dict[int, str] = {}
    if first is None:
        return found
    by_serial = {e.serial: e for e in events}
    todo: list[tuple[int, str]] = []
    for event in events:
        phase = _ends_in(event) if event.serial > first and event.kind == "function" else None
        if functional and phase is None and event.serial > first and _makes_leaf(event):
            phase = "optimizer"
        if phase is not None:
            found[event.serial] = phase
            todo += [(serial, phase) for serial in _refs(event)]
    while todo:
        serial, phase = todo.pop()
        event = by_serial.get(serial)  # type: ignore[assignment]
        if event is None or serial <= first or serial in found or event.kind != "function" or event.scalar:
            continue
        found[serial] = phase
        todo += [(earlier, phase) for earlier in _refs(event)]
    for event in events:
        # What is read off a gradient and goes nowhere else (a norm for the log) is treatment of gradients as well.
        if event.serial not in found and event.kind == "function" and event.serial > first:
            if attribute(event) == "grad" or any(found.get(s) == "clip" for s in _refs(event)):
                found[event.serial] = "clip"
    return found


def _makes_leaf(event: Event) -> bool:
    target = event.args[0] if event.args else None
    return getattr(event.target, "__name__", "") == "requires_grad_" and isinstance(target, Ref)


def _ends_in(event: Event) -> str | None:
    name = getattr(event.target, "__name__", "")
    target = event.args[0] if event.args else None
    if name == "__set__":
        return "clip" if attribute(event) == "grad" else "optimizer" if attribute(event) == "data" else None
    if not (name.endswith("_") and not name.endswith("__")) and name != "__setitem__" and not name.startswith("__i"):
        return None
    if isinstance(target, Ref):
        made = attribute(target.event)
        return "clip" if made == "grad" else "optimizer" if made == "data" and _parameter(target.event) else None
    return "optimizer" if isinstance(target, torch.Tensor) and target.is_leaf and target.requires_grad else None


def _parameter(event: Event) -> bool:
    source = event.args[0] if event.args else None
    return isinstance(source, torch.Tensor) and source.is_leaf and source.requires_grad


def attribute(event: Event) -> str | None:
    """Name of the tensor attribute that `event` reads or sets."""
    if getattr(event.target, "__name__", "") not in ("__get__", "__set__"):
        return None
    return getattr(getattr(event.target, "__self__", None), "__name__", None)


def _refs(event: Event) -> list[int]:
    found: list[int] = []

    def visit(ref: Any) -> None:
        found.append(ref.event.serial)

    walk((event.args, event.kwargs), visit)
    return found
