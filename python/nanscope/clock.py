"""Which step of the user's loop it is, with any number of optimizers."""

from __future__ import annotations

from typing import Any


class Clock:
    """Counts rounds of optimizer steps: a round ends when an optimizer steps that has stepped in it already.

    With one optimizer this is the number of completed steps; with a GAN's two, the number of completed loop iterations.
    """

    def __init__(self) -> None:
        self.rounds = 0
        self._round: set[int] = set()
        self._last: set[int] = set()

    def step_of(self, optimizer: Any) -> int:
        """The step that `optimizer` is about to take."""
        return self.rounds + (id(optimizer) in self._round)

    def now(self) -> int:
        """The step that the program is in, when no optimizer is at work."""
        return self.rounds + bool(self._round and self._round >= self._last)

    def stepped(self, optimizer: Any) -> None:
        """`optimizer` has completed (or skipped) a step."""
        if id(optimizer) in self._round:
            self.rounds += 1
            self._last, self._round = self._round, set()
        self._round.add(id(optimizer))

    def completed(self) -> int:
        """Steps completed so far, a begun round counted."""
        return self.rounds + bool(self._round)
