"""From a trip to a report: replay, ledger, and what Rust makes of it."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from nanscope.distributed.imprints import imprints
from nanscope.distributed.imprints import single as only
from nanscope.outcomes import Diagnosed, Outcomes
from nanscope.replay import births, rerun
from nanscope.replay.names import Names, variable
from nanscope.replay.phases import phases
from nanscope.replay.places import place
from nanscope.replay.player import Player, Unplayable
from nanscope.replay.tracer import Tracer
from nanscope.replay.values import number
from nanscope.trip import Trip

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

SLOW_SECONDS = 1.0  # a replay longer than this says so on stderr
AGAIN_SECONDS = 5.0  # and again after each of these


def diagnose(watcher: Watcher, trip: Trip) -> dict[str, Any]:
    """Replays the step, writes trip, ledger and report into the run folder, returns the report."""
    names = Names(trip.roots, list(watcher.optimizers))
    if trip.alarm is not None:
        return over_steps(watcher, trip, names)
    if trip.apart is not None:
        plain = trip.plain()
        if trip.place is not None:
            plain["place"] = place(*trip.place, watcher.run_folder.info["cwd"])
        return told(watcher, plain, unplayed(watcher, trip))
    if trip.ledger is not None:
        trip.ledger["history"] = watcher.course.history(trip.tape)
        return told(watcher, trip.plain(), trip.ledger)
    if trip.tensor is not None and trip.where in ("gradient", "parameter", "buffer", "state"):
        trip.name = trip.name or names.of(trip.tensor) or variable(trip.tensor) or "a tensor without a name"
    made = watcher.recorder.producer(trip.tensor) if trip.tensor is not None else None
    trip.origin = None if made is None else (made.event, made.position)
    ledger = replay(watcher, trip, names)
    if not ledger["faithful"] and "single" not in ledger:
        ledger = rerun.instead(watcher, trip, ledger)
    watcher.course.monitor.batch(trip.step, watcher.recorder)
    ledger["history"] = watcher.course.history(trip.tape)
    plain = trip.plain()
    if ledger.get("trip_entry") is not None:
        plain["entry"] = ledger["trip_entry"]
    plain["also"] = ledger.pop("also", [])
    ledger.pop("trip_entry", None)
    return told(watcher, plain, ledger, trip)


def over_steps(watcher: Watcher, trip: Trip, names: Names) -> dict[str, Any]:
    """The report of an alarm: no operator is to blame, so there is no replay."""
    base = watcher.run_folder.info["cwd"]
    plain = watcher.course.trip(trip.alarm, trip.optimizer, names, trip.tape, base)
    return told(watcher, plain, unplayed(watcher, trip))


def unplayed(watcher: Watcher, trip: Trip) -> dict[str, Any]:
    """The ledger of a step that is not run again."""
    return {
        "entries": [], "events": 0, "operators": 0, "faithful": False, "method": "", "seconds": 0.0,
        "facts": facts(trip), "history": watcher.course.history(trip.tape),
    }  # fmt: skip


def told(watcher: Watcher, plain: dict[str, Any], ledger: dict[str, Any], trip: Trip | None = None) -> dict[str, Any]:
    """Writes trip, ledger and report into the run folder; returns the report. Of a `trip` whose step can be run again, with
    what was tried on it."""
    folder = watcher.run_folder
    folder.trip(plain)
    diagnosed = Diagnosed(json.dumps(plain), folder.ledger(ledger), Outcomes(plain["step"]))
    end = folder.ending("stopped", None, watcher.clock.completed(), watcher.own_seconds())
    report = diagnosed.report(folder, end)
    folder.report(report)  # before anything is tried: a kill on the way must not cost the diagnosis
    watcher.diagnosed = diagnosed  # of several, fixes are for the one that the report is about
    playable = ledger["faithful"] and ledger["method"] == "tape" and report["verdict"] == "nonfinite"
    if trip is not None and watcher.budget > 0 and playable:
        tried(watcher, trip, report, diagnosed)
        report = diagnosed.report(folder, end)
        folder.report(report)
    return report


def tried(watcher: Watcher, trip: Trip, report: dict[str, Any], diagnosed: Diagnosed) -> None:
    """Experiments on the step, into `diagnosed`; what fails of them costs no diagnosis."""
    from nanscope.experiments.conduct import conduct

    start = time.monotonic()
    try:
        conduct(watcher, trip, report, diagnosed)
    except Exception as error:  # noqa: BLE001 - our fault must not become the program's
        where = traceback.extract_tb(error.__traceback__)[-1]
        watcher.warn(f"an experiment failed: {type(error).__name__}: {error} ({where.filename}:{where.lineno})")
    watcher.budget_left = max(watcher.budget - (time.monotonic() - start), 0.0)
    if diagnosed.outcomes.any():
        watcher.run_folder.outcomes(diagnosed.outcomes.plain())


def undiagnosed(watcher: Watcher, trip: Trip, error: Exception) -> dict[str, Any]:
    """The report when the diagnosis itself has failed: the trip, and what went wrong."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"nanscope failed while it diagnosed the trip: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    watcher.warn(text)
    ledger = {
        "entries": [],
        "events": 0,
        "operators": 0,
        "faithful": False,
        "method": "tape",
        "seconds": 0.0,
        "warnings": [text],
    }
    return told(watcher, trip.plain(), ledger)


@contextlib.contextmanager
def progress(trip: Trip, done: Callable[[], int]) -> Iterator[None]:
    """Talk on stderr when a replay takes long enough for a person to wonder; `done` counts operators so far."""
    stream = sys.stderr  # a replay mutes the program's own output by replacing the stream
    over = threading.Event()

    def talk() -> None:
        if over.wait(SLOW_SECONDS):
            return
        stream.write(
            f"nanscope: step {trip.step}: {trip.where} is {trip.kind}; running the step again under observation\n"
        )
        while not over.wait(AGAIN_SECONDS):
            stream.write(f"nanscope: {done()} operators so far\n")

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def replay(watcher: Watcher, trip: Trip, names: Names, wide: bool = True) -> dict[str, Any]:
    """The ledger of one replay as plain data; `trip_entry` is the entry that wrote the value that tripped.

    With `wide` every operator is also computed in float64.
    """
    start = time.perf_counter()
    optimizers = [trip.optimizer] if trip.last is not None else []
    scalers = [watcher.scaler] if watcher.scaler is not None else []
    tracer = Tracer(watcher.recorder.empties, watcher.run_folder.info["cwd"], wide)
    ledger: dict[str, Any] = {
        "method": "tape",
        "faithful": False,
        "events": 0,
        "operators": 0,
        "entries": [],
        "facts": facts(trip),
    }
    scale = watcher.scale()
    if scale is not None:
        ledger["facts"]["loss_scale"] = scale
    player = None
    try:
        player = Player(trip.tape, trip.last, optimizers, scalers)
        player.together = trip.together
        parameters = [*names.all_parameters(), *leaves(trip)]
        tracer.phases = phases(player.events, watcher.recorder.optimizers_seen is False)
        with progress(trip, lambda: tracer.operators):
            player.play(tracer.around, parameters)
        entry, reproduced = find(trip, player, tracer)
        same = all(losses_equal(event.value, value) for event, value in player.losses)
        if not same:
            player.problems.append("the replayed loss differs from the recorded one")
        if not reproduced:
            single = single_element(trip, player, names)
            if single is not None:
                ledger["single"] = single
            player.problems.append("the replay did not reproduce the bad value")
        ledger.update(faithful=reproduced and same and not player.problems, events=len(player.events))
        ledger["trip_entry"] = entry
        ledger["also"] = bad_gradients(player, tracer)
        ledger["warnings"] = player.problems
        tracer.tell_whole(ledger, entry)
    except Unplayable as error:
        ledger["warnings"] = [f"the step could not be replayed: {error}"]
    if tracer.exponents:
        ledger["facts"]["gradient_exponents"] = {"exponents": sorted(tracer.exponents.items())}
    ledger["entries"] = tracer.ledger(names)
    tracer.tell_attention(ledger)
    watcher.kernels.recall(ledger)
    ledger["operators"] = tracer.operators
    ledger["seconds"] = time.perf_counter() - start
    return ledger


def single_element(trip: Trip, player: Player, names: Names) -> dict[str, Any] | None:
    """The only element in which the gradient that tripped differs from what the replay gives, while every other gradient is
    equal to the bit: `Single` of the run folder. `None` where that is not so."""
    if trip.where != "gradient" or trip.late or trip.tensor is None or not isinstance(trip.tensor.grad, torch.Tensor):
        return None
    parameters = [p for p in names.all_parameters() if isinstance(p.grad, torch.Tensor)]
    again = [player.gradients.get(id(p)) for p in parameters]
    if any(g is None or g.shape != p.grad.shape for p, g in zip(parameters, again, strict=True)):  # type: ignore[union-attr]
        return None
    pairs = list(zip(parameters, imprints([p.grad for p in parameters]), imprints(again), again, strict=True))
    unlike = [(p, mine, other, g) for p, mine, other, g in pairs if mine != other]
    if len(unlike) != 1 or unlike[0][0] is not trip.tensor:
        return None
    parameter, mine, other, gradient = unlike[0]
    seen = parameter.grad
    assert seen is not None and gradient is not None
    found = None if not mine or not other else only(mine, other, seen.numel())
    if found is None:
        return None
    position, bits = found
    return {
        "name": f"the gradient of {trip.name}", "dtype": str(seen.dtype).removeprefix("torch."), "of": seen.numel(),
        "index": [int(i) for i in torch.unravel_index(torch.tensor(position), seen.shape)], "bits": bits,
        "was": number(seen.reshape(-1)[position].item()), "right": number(gradient.reshape(-1)[position].item()),
    }  # fmt: skip


def find(trip: Trip, player: Player, tracer: Tracer) -> tuple[int | None, bool]:
    """Entry that wrote what tripped, and whether the replay made it bad again."""
    entries = tracer.entries

    def bad(index: int | None) -> bool:
        return index is not None and any(births.bad(a) for a in entries[index]["outputs"])

    if trip.event is not None:
        made = player.results.get(trip.event.serial, [])
        entry = tracer.entry_of(made[0]) if made else None
        return entry, bad(entry)
    if trip.where == "loss":
        index = next((i for i in tracer.loss_entries if bad(i)), None)
        return index, index is not None or any(not math.isfinite(value) for _, value in player.losses)
    if trip.where == "gradient":
        gradient = player.gradients.get(id(trip.tensor))
        if trip.origin is not None:  # the parameter itself was made by the replay
            gradient = player.results[trip.origin[0].serial][trip.origin[1]].grad
        entry = tracer.entry_of(gradient)
        return entry, bad(entry)
    if trip.where == "output" and trip.tensor is None:
        index = next((i for i in reversed(range(len(entries))) if bad(i)), None)
        return index, index is not None
    if trip.where == "parameter" and trip.origin is not None and trip.origin[0].serial in player.results:
        entry = tracer.entry_of(
            player.results[trip.origin[0].serial][trip.origin[1]]
        )  # new parameters, made by the program
        return entry, bad(entry)
    entry = tracer.entry_of(trip.tensor)
    if trip.where == "output":
        entry = next((i for i in reversed(range(len(entries))) if bad(i)), None)
    return entry, bad(entry)


def bad_gradients(player: Player, tracer: Tracer) -> list[int]:
    """Entries that wrote gradients which are not finite, each once."""
    found = {tracer.entry_of(g) for g in player.gradients.values() if g is not None}
    return sorted(i for i in found if i is not None and any(births.bad(a) for a in tracer.entries[i]["outputs"]))


def losses_equal(recorded: float | None, replayed: float) -> bool:
    """Equal to the bit; any NaN equals any other."""
    return recorded is None or recorded == replayed or (recorded != recorded and replayed != replayed)


def failing(watcher: Watcher, trip: Trip) -> bool:
    """True when a replay of a step that ended in an exception met values that are not finite."""
    names = Names(trip.roots, list(watcher.optimizers))
    watcher.diagnosing = True
    try:
        ledger = replay(watcher, trip, names, wide=False)
    finally:
        watcher.diagnosing = False
    entry = ledger.get("trip_entry")
    if entry is None:
        return False
    counts = [a["counts"] for a in ledger["entries"][entry]["outputs"] if "counts" in a]
    return any(c["nan"] or c["posinf"] for c in counts)


def last_value(watcher: Watcher, trip: Trip, event: Any) -> float | None:
    """Value of the scalar that `event` gives in a replay."""
    names = Names(trip.roots, list(watcher.optimizers))
    try:
        player = Player(trip.tape, None, [], [watcher.scaler] if watcher.scaler is not None else [])
    except Unplayable:
        return None
    player.play(lambda *_: contextlib.nullcontext(), [*names.all_parameters(), *leaves(trip)])
    made = player.results.get(event.serial, [])
    return float(made[0].detach()) if made and made[0].numel() == 1 and made[0].is_floating_point() else None


def leaves(trip: Trip) -> list[torch.Tensor]:
    """Leaf tensors with a gradient that the tape read from outside."""
    return [t for t, _ in trip.tape.held.values() if t.is_leaf and t.requires_grad]


def facts(trip: Trip) -> dict[str, Any]:
    """What rules may want to know of the run besides the operators."""
    found: dict[str, Any] = {
        "deterministic_fill": bool(
            torch.are_deterministic_algorithms_enabled()
            and getattr(torch.utils.deterministic, "fill_uninitialized_memory", False)
        ),
    }
    if trip.optimizer is not None:
        group = trip.optimizer.param_groups[0]
        found["optimizer"] = type(trip.optimizer).__name__
        for key in ("lr", "eps", "weight_decay", "momentum"):
            value = group.get(key)
            if isinstance(value, (int, float)):
                found[f"optimizer.{key}"] = number(value)
    return found
