"""Whether a step gives the same when it is run twice: a healthy step, before its update is made."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import torch

from nanscope.audit import Audit, ledger, played, refused
from nanscope.capture.recomputed import Seen
from nanscope.experiments.repetition import Deterministic
from nanscope.replay.names import Names
from nanscope.replay.player import Player, Unplayable
from nanscope.replay.twice import Twice
from nanscope.replay.witness import Witness
from nanscope.trip import Trip


class Repetition(Audit):
    """`every`: steps from one such pair of replays to the next, `None` for none.

    What differs by rounding alone, or because the program takes numbers from elsewhere than torch, is told and ends no run.
    """

    where = "repeat"
    what = "the step was"

    def _compared(self, trip: Trip) -> bool:
        watcher = self._watcher
        reason = refused(watcher)
        if reason is not None:
            raise Unplayable(reason)
        start = time.perf_counter()
        names = Names(trip.roots, list(watcher.optimizers))
        _, first = self._played(trip, names)
        player, second = self._played(trip, names)
        twice = Twice(first, second)
        if twice.equal:
            return False
        if not twice.pairs:
            watcher.warn(f"step {trip.step}, run twice, ended at another operator the second time")
            return False
        base = watcher.run_folder.info["cwd"]
        plain = twice.plain(names, base)
        if twice.rounding or twice.from_python:
            at = plain["first"].get("place")
            line = "" if at is None else f" at {at['file']}:{at['line']}"
            why = "the order of additions" if twice.rounding else "numbers or state from outside torch"
            watcher.warn(f"step {trip.step}, run twice, is not equal to the bit: {plain['first']['op']}{line} ({why})")
            return False
        if twice.own:
            for key, around in (("one_thread", one_thread()), ("deterministic", Deterministic().whole())):
                equal = self._equal(trip, names, around)
                if equal is not None:
                    plain[key] = equal
        trip.ledger = {**ledger(trip, names, player, second, start), "repeat": plain}
        return True

    def _played(self, trip: Trip, names: Names) -> tuple[Player, Witness]:
        watcher = self._watcher
        witness = Witness(watcher.recorder.empties, watcher.run_folder.info["cwd"], Seen(lambda: None), everything=True)
        player = played(watcher, trip, names, witness)
        if player.error is not None:
            raise Unplayable("; ".join(player.problems))
        return player, witness

    def _equal(self, trip: Trip, names: Names, around: contextlib.AbstractContextManager[Any]) -> bool | None:
        """Whether two more runs inside `around` are equal to the bit; `None` where they cannot be made."""
        try:
            with around:
                first, second = (self._played(trip, names)[1] for _ in range(2))
        except Unplayable:
            return None
        return Twice(first, second).equal


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """torch's operators run on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
