"""What a program is run again for."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanscope.trip import Trip
    from nanscope.watcher import Watcher


class Errand:
    """Sees every step of the run, and its end. The answer is a file, written whole."""

    audits = False  # whether recomputation is compared with forward, as in a run of its own

    alarms = False  # whether an alarm that ends no run of its own ends this one

    def __init__(self, spec: dict[str, Any]) -> None:
        self._answer: str = spec["answer"]

    def at_step(self, watcher: Watcher, step: int) -> None:
        """Step `step` is about to begin."""

    def updating(self, watcher: Watcher, optimizer: Any) -> None:
        """The update of a step is about to be made, by hand where `optimizer` is `None`; nothing was found wrong with it."""

    def tripped(self, watcher: Watcher, trip: Trip) -> None:
        """A trip: the run ends here."""

    def over(self, watcher: Watcher, how: str, error: BaseException | None) -> None:
        """The run has ended; `how` as in `Watcher.finish`."""

    def tracing(self) -> bool:
        """Whether operators are being traced."""
        return False

    def stop(self) -> None:
        """Takes off what it has installed."""

    def of_rank(self, folder: str, number: int) -> Errand | None:
        """The errand of a process that the program has started; its logs go to `folder`, and `number` is its place among those
        that do. `None` where it has none."""
        return None

    def answer(self, found: dict[str, Any]) -> None:
        """Leaves `found`, whole or not at all, for the process that asked."""
        os.makedirs(os.path.dirname(self._answer), exist_ok=True)
        with open(f"{self._answer}.new", "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.replace(f"{self._answer}.new", self._answer)
