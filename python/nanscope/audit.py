"""Whether what was computed is what should have been: one step, run again under a witness before its update is made.

Says which steps are looked at, and what is a trip; what it means is said in Rust. Here recomputation is compared with what forward
gave; kernels of attention are compared with their formula in `attention/audit.py`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from nanscope.capture.recomputed import Seen
from nanscope.replay.names import Names
from nanscope.replay.phases import phases
from nanscope.replay.player import Player, Unplayable
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher


class Audit:
    """`every`: steps from one comparison to the next, 0 for one only, `None` for none. Each optimizer has its own."""

    where: str  # of the trip
    what: str  # is compared

    def __init__(self, every: int | None) -> None:
        self.every = every
        self._next: dict[int, float] = {}  # number of an optimizer -> the step from which on it is due

    def __call__(self, watcher: Watcher, optimizer: Any) -> Trip | None:
        """A step is about to make its update. The trip, if it must not."""
        step = watcher.clock.now() if optimizer is None else watcher.clock.step_of(optimizer)
        number = -1 if optimizer is None else watcher.course.number(optimizer)
        if (
            self.every is None
            or (watcher.errand is not None and not watcher.errand.audits)
            or watcher.diagnosing
            or step < self._next.get(number, 0)
        ):
            return None
        self._next[number] = step + self.every if self.every else float("inf")
        trip = Trip(step, self.where, "finite", watcher._keep_tape(), None, None, watcher.calm.loss, optimizer)
        trip.roots = list(watcher.recorder.roots)
        watcher.diagnosing = True
        popped = watcher.recorder.enter()
        try:
            return trip if self._compared(watcher, trip) else None
        except Unplayable as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            reason = f"{type(error).__name__}: {error}"
        finally:
            watcher.recorder.leave(popped)
            watcher.diagnosing = False
        watcher.run_folder.note(f"step {step}: {self.what} not compared: {reason}")
        return None

    def _compared(self, watcher: Watcher, trip: Trip) -> bool:
        """Whether they differ; then `trip.ledger` says how."""
        raise NotImplementedError


class Recomputation(Audit):
    """Of a step that has run part of its forward again."""

    where = "recompute"
    what = "recomputation was"

    def __init__(self, every: int | None) -> None:
        super().__init__(every)
        self.seen = Seen()

    def __call__(self, watcher: Watcher, optimizer: Any) -> Trip | None:
        self.seen.any = False
        try:
            return super().__call__(watcher, optimizer)
        finally:
            self.seen.any, self.seen.nodes = False, None

    def _compared(self, watcher: Watcher, trip: Trip) -> bool:
        """Whether they differ; then `trip.ledger` says how."""
        from nanscope.replay.parity import Parity
        from nanscope.replay.witness import Witness

        reason = refused(watcher)
        if reason is not None:
            raise Unplayable(reason)
        start = time.perf_counter()
        base = watcher.run_folder.info["cwd"]
        names = Names(trip.roots, list(watcher.optimizers))
        self.seen.nodes = set()
        witness = Witness(watcher.recorder.empties, base, self.seen)
        witness.attention = None
        player = played(watcher, trip, names, witness)
        if player.error is not None:
            raise Unplayable("; ".join(player.problems))
        parity = Parity(witness)
        if parity.equal:
            return False
        plain = parity.plain(names, base)
        error_of_gradients = self._gradient_error(watcher, trip, names, player)
        if error_of_gradients is not None:
            plain["gradient_error"] = error_of_gradients
        trip.ledger = {**ledger(trip, names, player, witness, start), "parity": plain}
        return True

    def _gradient_error(self, watcher: Watcher, trip: Trip, names: Names, player: Player) -> float | None:
        """The step once more without checkpointing: how far the gradients are from those. `None` where that cannot be had."""
        from nanscope.replay.witness import Witness

        witness = Witness(watcher.recorder.empties, watcher.run_folder.info["cwd"], Seen())
        witness.attention = None
        try:
            with without_checkpoints() as left_out:
                plain = played(watcher, trip, names, witness)
        except Exception as error:  # noqa: BLE001 - nothing is lost but a number
            watcher.run_folder.note(f"how far the gradients are off was not measured: {type(error).__name__}: {error}")
            return None
        if plain.error is not None or not left_out[0]:
            return None
        by, size = 0.0, 0.0
        for key, gradient in plain.gradients.items():
            other = player.gradients.get(key)
            if gradient is None or other is None or gradient.layout is not torch.strided:
                continue
            by += float((other.detach() - gradient.detach()).double().square().sum())
            size += float(gradient.detach().double().square().sum())
        return (by / size) ** 0.5 if size > 0 else None


def refused(watcher: Watcher) -> str | None:
    """Why a step must not be run again while the program goes on."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        if distributed.get_world_size() > 1:
            return "the process is one of several ranks, and a replay would talk to the others"
    for parameter in watcher._parameters():
        if getattr(parameter, "_post_accumulate_grad_hooks", None):
            return "parameters have hooks that run after their gradient is there"
    return None


def ledger(trip: Trip, names: Names, player: Player, witness: Any, start: float) -> dict[str, Any]:
    """That of a step that was run again under a witness, begun at `start` by `time.perf_counter()`."""
    from nanscope.diagnosis import facts, losses_equal

    if not all(losses_equal(event.value, value) for event, value in player.losses):
        player.problems.append("the replayed loss differs from the recorded one")
    return {
        "method": "tape", "faithful": not player.problems, "events": len(player.events), "operators": witness.operators,
        "entries": witness.ledger(names), "facts": facts(trip), "warnings": player.problems,
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def played(watcher: Watcher, trip: Trip, names: Names, witness: Any) -> Player:
    """The step, run again under `witness`."""
    from nanscope.diagnosis import leaves

    player = Player(trip.tape, None, [], [watcher.scaler] if watcher.scaler is not None else [])
    witness.phases = phases(player.events)
    player.play(witness.around, [*names.all_parameters(), *leaves(trip)], witness.put_back)
    return player


@contextlib.contextmanager
def without_checkpoints() -> Iterator[list[int]]:
    """torch's checkpoint functions call the block and keep everything; yields how often that happened."""
    from torch.utils import checkpoint as home

    count = [0]
    undo: list[Any] = []

    def apply(kind: Any, function: Any, preserve: Any, *args: Any) -> Any:
        count[0] += 1
        return function(*args)

    def plain(*args: Any, **kwargs: Any) -> Iterator[None]:
        count[0] += 1
        yield

    cls = home.CheckpointFunction
    cls.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
    undo.append(functools.partial(delattr, cls, "apply"))
    name = "_checkpoint_without_reentrant_generator"
    original = getattr(home, name, None)
    if original is not None:
        setattr(home, name, plain)
        undo.append(functools.partial(setattr, home, name, original))
    try:
        yield count
    finally:
        for step in undo:
            step()
