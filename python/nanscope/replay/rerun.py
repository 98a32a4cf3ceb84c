"""When a tape cannot be replayed: the whole program again in a fresh process, the failing step traced as it happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanscope.trip import Trip
    from nanscope.watcher import Watcher

RERUN_MAX_SECONDS = 900.0  # a run longer than this is not repeated unasked
SLACK = 30.0  # a rerun may take this many times as long as the run did, plus start-up


def instead(watcher: Watcher, trip: Trip, ledger: dict[str, Any]) -> dict[str, Any]:
    """The ledger of a rerun, if one can be had; otherwise `ledger` with a warning that says why not."""
    reason = "; ".join(ledger.get("warnings", [])) or "the replay was not faithful"
    notes = ledger.setdefault("warnings", [])
    took = watcher.run_folder.seconds()
    if watcher.again is None:
        notes.append("a rerun is possible for `nanscope run` only")
        return ledger
    if took > RERUN_MAX_SECONDS:
        notes.append(f"the program was not run again: it had taken {took:.0f} s by the step of the trip")
        return ledger
    sys.stderr.write(f"nanscope: {reason}; running the program again, with step {trip.step} traced as it happens\n")
    sys.stderr.flush()
    start = time.perf_counter()
    found, problem = _run(watcher.again, trip, 60.0 + SLACK * took)
    if found is None:
        notes.append(f"a rerun did not help: {problem}")
        return ledger
    found["facts"] = {**ledger.get("facts", {}), **found.get("facts", {})}
    found["seconds"] = time.perf_counter() - start
    return found


def _run(again: dict[str, Any], trip: Trip, timeout: float) -> tuple[dict[str, Any] | None, str]:
    with tempfile.TemporaryDirectory(prefix="nanscope-") as folder:
        answer = os.path.join(folder, "ledger.json")
        spec = {
            **again,
            "arm": trip.step,
            "where": trip.where,
            "kind": trip.kind,
            "answer": answer,
            "out": f"{folder}/run",
        }
        request = os.path.join(folder, "request.json")
        with open(request, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        command = [sys.executable, "-m", "nanscope.replay.again", request]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                check=False,
                cwd=again.get("cwd"),
            )
        except subprocess.TimeoutExpired:
            return None, f"it took longer than {timeout:.0f} s"
        if not os.path.exists(answer):
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            return None, f"it did not trip (status {done.returncode}{': ' + last[0] if last else ''})"
        with open(answer, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
        if found.pop("step") != trip.step:
            return None, "it tripped at another step: the program is not deterministic"
        return found, ""


class Live:
    """In the fresh process: traces operators from now on."""

    answer: str | None = None

    def __init__(self, recorder: Any, base: str) -> None:
        from nanscope.replay.tracer import Tracer

        self.recorder = recorder
        self.tracer = Tracer(recorder.empties, base)
        recorder.observer = self.tracer
        self._names = self.tracer.named_modules()
        self._names.__enter__()
        self.tracer.__enter__()
        self._on = True

    def stop(self) -> None:
        """Takes the tracer off."""
        if self._on:
            self._on = False
            self.recorder.observer = None
            self.tracer.__exit__(None, None, None)
            self._names.__exit__(None, None, None)

    def deliver(self, watcher: Watcher, trip: Trip) -> None:
        """Writes the ledger for the process that asked."""
        from nanscope.capture.event import closure
        from nanscope.diagnosis import facts
        from nanscope.replay import births
        from nanscope.replay.names import Names
        from nanscope.replay.phases import phases

        self.stop()
        known = phases(closure(trip.tape))
        for record in self.tracer.entries:
            record["phase"] = (
                known.get(record["event"], record["phase"]) if record["phase"] == "forward" else record["phase"]
            )
        tracer, entries = self.tracer, self.tracer.entries
        names = Names(trip.roots, list(watcher.optimizers))
        if trip.where == "loss":
            entry = next((i for i in tracer.loss_entries if any(births.bad(a) for a in entries[i]["outputs"])), None)
        elif trip.where == "gradient":
            entry = tracer.entry_of(trip.tensor.grad)
        else:
            entry = tracer.entry_of(trip.tensor) if trip.tensor is not None else None
        also = {tracer.entry_of(p.grad) for p in names.all_parameters() if p.grad is not None}
        ledger = {
            "step": trip.step,
            "method": "rerun",
            "faithful": True,
            "events": 0,
            "operators": tracer.operators,
            "entries": tracer.ledger(names),
            "facts": facts(trip),
            "warnings": [],
            "trip_entry": entry,
            "also": sorted(i for i in also if i is not None and any(births.bad(a) for a in entries[i]["outputs"])),
            "seconds": 0.0,
        }
        tracer.tell_whole(ledger, entry)
        if Live.answer is not None:
            with open(Live.answer, "w", encoding="utf-8") as file:
                json.dump(ledger, file)
