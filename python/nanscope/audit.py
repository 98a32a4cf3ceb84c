"""Whether what was computed is what should have been: of a step that is about to make its update.

Says which steps are looked at, runs them again under a witness, and says what is a trip; what it means is said in Rust.
Here what backward gets is compared with what forward had: recomputations, and what saved-tensor hooks kept. Kernels of
attention are in `attention/audit.py`.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from nanscope.capture.recomputed import Seen
from nanscope.kept import Kept, Pair, unseen
from nanscope.replay import comm
from nanscope.replay.names import Names
from nanscope.replay.phases import phases
from nanscope.replay.player import Player, Unplayable
from nanscope.replay.sample import Value
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher


YOUNG_STEPS = 64  # an optimizer that steps for the first time later than that is compared by a replay alone


class Audit(abc.ABC):
    """`every`: steps from one comparison to the next, 0 for one only, `None` for none. Each optimizer has its own."""

    where: str  # of the trip
    what: str  # is compared

    def __init__(self, every: int | None, watcher: Watcher) -> None:
        self.every = every
        self._watcher = watcher
        self._next: dict[int, float] = {}  # number of an optimizer -> the step from which on it is due

    def __call__(self, optimizer: Any) -> Trip | None:
        """A step is about to make its update. The trip, if it must not."""
        due = self._taken(optimizer)
        return None if due is None else self._run_again(due[0], optimizer)

    def _taken(self, optimizer: Any) -> tuple[int, bool] | None:
        """The step, where it is to be looked at now, and whether it is the first of this optimizer; `None` where it is not."""
        watcher = self._watcher
        step = watcher.clock.now() if optimizer is None else watcher.clock.step_of(optimizer)
        number = self._number(optimizer)
        if self._idle() or step < self._next.get(number, 0):
            return None
        fresh = number not in self._next
        self._next[number] = step + self.every if self.every else float("inf")
        return step, fresh

    def _number(self, optimizer: Any) -> int:
        return -1 if optimizer is None else self._watcher.course.number(optimizer)

    def _idle(self) -> bool:
        watcher = self._watcher
        return self.every is None or (watcher.errand is not None and not watcher.errand.audits) or watcher.diagnosing

    def _run_again(self, step: int, optimizer: Any) -> Trip | None:
        watcher = self._watcher
        trip = Trip(step, self.where, "finite", watcher.keep_tape(), None, None, watcher.calm.loss, optimizer)
        trip.roots = list(watcher.recorder.roots)
        watcher.diagnosing = True
        popped = watcher.recorder.enter()
        try:
            return trip if self._compared(trip) else None
        except Unplayable as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - our fault must not become the program's
            reason = f"{type(error).__name__}: {error}"
        finally:
            watcher.recorder.leave(popped)
            watcher.diagnosing = False
        watcher.run_folder.note(f"step {step}: {self.what} not compared: {reason}")
        return None

    @abc.abstractmethod
    def _compared(self, trip: Trip) -> bool:
        """Whether something differs; then `trip.ledger` says how. Raises `Unplayable` where the step cannot be run again."""


class Recomputation(Audit):
    """What backward gets beside what forward had.

    The first comparison, and each where the program recomputes by hand, runs the step again and looks at every operator. The
    others look while the program runs at what torch itself compares, and run the step again only if that differs.
    """

    where = "recompute"
    what = "recomputation was"

    def __init__(self, every: int | None, watcher: Watcher) -> None:
        super().__init__(every, watcher)
        self.kept = Kept(self._due, self._used, self._failed)
        self.seen = Seen(self._about_to_recompute)
        self._soonest = -1.0
        self._parted: list[Pair] = []  # what differed while the program ran
        self._buffers: list[tuple[torch.Tensor, int | None]] | None = (
            None  # before the first recomputation of this backward
        )
        self._recomputed = self._moved = False

    def __call__(self, optimizer: Any) -> Trip | None:
        self.seen.any = False
        now = self._watcher.clock.now()
        try:
            return self._looked(optimizer)
        finally:
            known = [self._number(one) for one in self._watcher.optimizers] if now < YOUNG_STEPS else []
            self._soonest = min(
                [*self._next.values(), *(self._next.get(number, -1.0) for number in known)], default=-1.0
            )
            self.kept.turn(self.every is not None and now + 1 >= self._soonest)

    def _looked(self, optimizer: Any) -> Trip | None:
        anything = self._recomputed or self.seen.foreign or bool(self.kept.compared or self.kept.hooks)
        due = self._taken(optimizer) if anything else None
        if due is None:
            self.forget()
            return None
        step, fresh = due
        several = comm.ranks()
        if several and fresh:  # others wait for no replay: the next step is compared as it runs
            self._next[self._number(optimizer)] = step + 1
        # What is saved in the first step may be out of step with its recomputation: a table made at the first call.
        self._parted = self.kept.broken() if fresh else self.kept.parted()
        apart = bool(self._parted) or self._moved
        alone = not several and (self.seen.foreign or (self._recomputed and (fresh or not self.kept.compared)))
        try:
            return self._run_again(step, optimizer) if apart or alone else None
        finally:
            self.forget()

    def forget(self) -> None:
        """The step is over, or this attempt at it."""
        self.kept.clear()
        self._buffers, self._recomputed, self._moved = None, False, False
        self.seen.any, self.seen.foreign, self.seen.nodes = False, False, None

    def refused_by_torch(self, error: BaseException) -> Trip | None:
        """Torch itself has found that a recomputation differs in shape or type, and has ended the program: where it began."""
        if type(error).__module__ != "torch.utils.checkpoint" or self.every is None:
            return None
        watcher = self._watcher
        try:
            return self._run_again(watcher.clock.now(), None) if watcher.recorder.tape.events else None
        finally:
            self.forget()

    # ---- while the program runs

    def _due(self) -> bool:
        if self.seen.nodes is not None:
            return True
        return self._watcher.clock.now() >= self._soonest and not self._idle() and not _captured()

    def _used(self) -> None:
        self.seen.any = True
        self._watcher.calm.forget()

    def _failed(self, error: Exception) -> None:
        self._watcher.run_folder.note(
            f"recomputation was not compared while the program ran: {type(error).__name__}: {error}"
        )

    def _about_to_recompute(self) -> None:
        """Buffers as forward has left them, of every module that has been called."""
        if self._buffers is not None or self.seen.nodes is not None or not self._due():
            return
        self._recomputed = True
        self._used()
        with self.kept.guarded(), unseen():
            found = {id(b): b for root in self._watcher.recorder.roots for b in root.buffers()}
            self._buffers = [(buffer, Value("", buffer).digest) for buffer in found.values()]
            torch.autograd.Variable._execution_engine.queue_callback(self._backward_over)

    def _backward_over(self) -> None:
        buffers, self._buffers = self._buffers or [], None
        with self.kept.guarded(), unseen():
            self._moved = self._moved or any(Value("", buffer).digest != digest for buffer, digest in buffers)

    # ---- the step once more

    def _compared(self, trip: Trip) -> bool:
        from nanscope.replay.parity import Parity
        from nanscope.replay.witness import Witness

        watcher = self._watcher
        reason = refused(watcher, bool(self._parted))
        if reason is not None:
            raise Unplayable(reason)
        start = time.perf_counter()
        base = watcher.run_folder.info["cwd"]
        names = Names(trip.roots, list(watcher.optimizers))
        self.seen.nodes = set()
        self.kept.clear()
        self.kept.turn(True)
        witness = Witness(watcher.recorder.empties, base, self.seen)
        self.kept.operators = lambda: witness.operators
        player = played(watcher, trip, names, witness)
        if player.error is not None and type(player.error).__module__ != "torch.utils.checkpoint":
            raise Unplayable("; ".join(player.problems))
        parity = Parity(witness, self.kept.broken(), self._parted)
        if parity.equal:
            return False
        plain = parity.plain(names, base)
        error_of_gradients = None if player.error else self._gradient_error(watcher, trip, names, player)
        if error_of_gradients is not None:
            plain["gradient_error"] = error_of_gradients
        trip.ledger = {**ledger(trip, names, player, witness, start), "parity": plain}
        return True

    def _gradient_error(self, watcher: Watcher, trip: Trip, names: Names, player: Player) -> float | None:
        """The step once more without checkpointing: how far the gradients are from those. `None` where that cannot be had."""
        from nanscope.replay.witness import Witness

        witness = Witness(watcher.recorder.empties, watcher.run_folder.info["cwd"], Seen(lambda: None))
        self.seen.nodes = set()
        try:
            with without_checkpoints() as left_out:
                plain = played(watcher, trip, names, witness)
        except Exception as error:  # noqa: BLE001 - nothing is lost but a number
            watcher.run_folder.note(f"how far the gradients are off was not measured: {type(error).__name__}: {error}")
            return None
        if plain.error is not None or not left_out[0] or self.seen.nodes:  # written by hand, it is there still
            return None
        by, size = 0.0, 0.0
        for key, gradient in plain.gradients.items():
            other = player.gradients.get(key)
            if gradient is None or other is None or gradient.layout is not torch.strided:
                continue
            by += float((other.detach() - gradient.detach()).double().square().sum())
            size += float(gradient.detach().double().square().sum())
        return (by / size) ** 0.5 if size > 0 else None


def _captured() -> bool:
    """Whether a CUDA graph is being captured: nothing may be copied to the host then."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def refused(watcher: Watcher, tripped: bool = False) -> str | None:
    """Why a step must not be run again while the program goes on; once it has tripped, that it talks to others is no reason."""
    distributed = sys.modules.get("torch.distributed")
    if not tripped and distributed is not None and distributed.is_available() and distributed.is_initialized():
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
    before = cls.__dict__.get("apply")
    cls.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
    undo.append(functools.partial(delattr, cls, "apply") if before is None else lambda: setattr(cls, "apply", before))
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
