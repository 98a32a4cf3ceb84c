"""Which step of the user's loop it is, with any number of optimizers."""

from __future__ import annotations

import weakref
from typing import Any


class Clock:
    """Counts rounds of optimizer steps: a round ends when an optimizer steps that has stepped in it already, or when one of
    its optimizers is gone.

    With one optimizer this is the number of completed steps; with a GAN's two, the number of completed loop iterations.
    """

    def __init__(self) -> None:
        self.rounds = 0
        self._round: list[weakref.ref[Any]] = []
        self._last = 0

    def _has(self, optimizer: Any) -> bool:
        for member in self._round:  # a loop: this runs in every step, and a generator would cost a frame
            if member() is optimizer:
                return True
        return False

    def _settle(self) -> None:
        for member in self._round:
            if member() is None:
                self._close()
                return

    def _close(self) -> None:
        self.rounds += 1
        self._last, self._round = len(self._round), []

    def step_of(self, optimizer: Any) -> int:
        """The step that `optimizer` is about to take."""
        self._settle()
        return self.rounds + self._has(optimizer)

    def now(self) -> int:
        """The step that the program is in, when no optimizer is at work."""
        self._settle()
        return self.rounds + bool(self._round and len(self._round) >= self._last)

    def stepped(self, optimizer: Any) -> int:
        """`optimizer` has completed (or skipped) a step; returns which."""
        members = self._round
        if len(members) == 1 and members[0]() is optimizer:  # one optimizer: its round ends when it steps again
            self.rounds += 1
            self._last = 1
            return self.rounds
        self._settle()
        if self._has(optimizer):
            self._close()
        self._round.append(weakref.ref(optimizer))
        return self.rounds

    def completed(self) -> int:
        """Steps completed so far, a begun round counted."""
        return self.rounds + bool(self._round)
