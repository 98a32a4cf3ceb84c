"""A trip: which signal said stop, when, and the tape that leads to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nanscope.capture.event import Event, Tape


@dataclass
class Trip:
    """`tensor` is what was not finite; `last` is the optimizer step to be replayed too, when it did the damage."""

    step: int
    where: str
    kind: str
    tape: Tape
    tensor: Any = None
    name: str | None = None
    loss: float | None = None
    optimizer: Any = None
    last: Event | None = None
    signal: str | None = None  # what said stop, where that is not `where` (a collapsing loss scale)
    event: Event | None = None  # the one that made the value, when no backward followed it
    origin: tuple[Event, int] | None = None  # what made `tensor`, where an event of the tape did
    alarm: Any = None  # _core.Alarm, where the trip is one: it shows over several steps
    ledger: dict[str, Any] | None = None  # of the replay that has shown the trip
    apart: dict[str, Any] | None = None  # what ranks disagree about: `Apart` of the run folder
    place: Any = None  # (code, instruction, line) of the program, where no operator is to blame
    roots: list[Any] = field(default_factory=list)
    late: bool = False  # seen a step later: what the step left in `grad` is gone
    together: bool = False  # all ranks have tripped in this step, and run it again in step with each other

    def plain(self) -> dict[str, Any]:
        """As the run folder holds it."""
        from nanscope.replay.values import number

        out: dict[str, Any] = {"step": self.step, "where": self.signal or self.where, "kind": self.kind}
        if self.name is not None:
            out["name"] = self.name
        if self.loss is not None:
            out["loss"] = number(self.loss)
        if self.apart is not None:
            out["apart"] = self.apart
        return out
