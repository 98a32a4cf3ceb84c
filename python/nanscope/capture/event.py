"""One entry of a tape: what was called, with what, under which settings, from which line."""

from __future__ import annotations

from typing import Any

from nanscope._core import Event, Ref

__all__ = ["Event", "Ref", "Tape", "closure", "walk"]


class Tape:
    """The events since the last optimizer step, and the outside tensors they read.

    `held` maps `id(tensor)` to `(tensor, version when first read)` for pinned events, `read` to a weak reference for the
    others; `originals` maps it to `(tensor, copy made before the first in-place change)`.
    """

    __slots__ = ("events", "fresh", "held", "originals", "overflow", "read", "storages", "unsafe")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.held: dict[int, tuple[Any, int]] = {}
        self.read: dict[int, Any] = {}
        self.originals: dict[int, tuple[Any, Any]] = {}
        self.fresh: list[Any] = []  # weak references to outside tensors whose storage was not looked at yet
        self.storages: dict[int, Any] = {}  # storage -> weak reference to the outside tensor read through it
        self.overflow = False
        self.unsafe: list[str] = []  # reasons why a replay cannot be exact

    def clear(self) -> None:
        """Empties the tape for the next step; its containers are used again."""
        self.events.clear()
        self.held.clear()
        self.fresh.clear()
        if self.read or self.storages or self.originals or self.unsafe:
            self.read.clear()
            self.storages.clear()
            self.originals.clear()
            self.unsafe.clear()
        self.overflow = False


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
