"""One entry of a tape: what was called, with what, under which settings, from which line."""

from __future__ import annotations

from typing import Any

from nanscope._core import Event, Ref, Tape

__all__ = ["Event", "Ref", "Tape", "closure", "walk"]


def closure(tape: Tape) -> list[Event]:
    """The events of `tape` and every earlier one that they need, in the order in which they happened."""
    found: dict[int, Event] = {}
    todo = list(tape.events)
    while todo:
        event = todo.pop()
        if event.serial in found:
            continue
        found[event.serial] = event
        walk((event.args, event.kwargs), lambda ref: todo.append(ref.event))
    return [found[serial] for serial in sorted(found)]


def walk(value: Any, visit: Any) -> None:
    """Calls `visit` on every `Ref` in nested tuples, lists and dicts."""
    if isinstance(value, Ref):
        visit(value)
    elif isinstance(value, (tuple, list)):
        for item in value:
            walk(item, visit)
    elif isinstance(value, dict):
        for item in value.values():
            walk(item, visit)
