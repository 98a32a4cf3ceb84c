"""An errand: the step of a trip, its operators traced as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nanscope.again.errand import Errand

if TYPE_CHECKING:
    from nanscope.trip import Trip
    from nanscope.watcher import Watcher


class Trace(Errand):
    """Traces from step `arm` on; the answer is the ledger."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        self._arm: int = spec["arm"]
        self._tracer: Any = None
        self._names: Any = None

    def at_step(self, watcher: Watcher, step: int) -> None:
        if step < self._arm or self._tracer is not None:
            return
        from nanscope.replay.tracer import Tracer

        self._tracer = Tracer(watcher.recorder.empties, watcher.run_folder.info["cwd"])
        self._recorder = watcher.recorder
        self._recorder.observer = self._tracer
        self._names = self._tracer.named_modules()
        self._names.__enter__()
        self._tracer.__enter__()
        watcher.calm.forget()

    def tracing(self) -> bool:
        return self._names is not None

    def stop(self) -> None:
        if self._names is not None:
            self._recorder.observer = None
            self._tracer.__exit__(None, None, None)
            self._names.__exit__(None, None, None)
            self._names = None

    def tripped(self, watcher: Watcher, trip: Trip) -> None:
        tracer = self._tracer
        if tracer is None:  # an earlier step than the first time: there is nothing to tell of it
            self.answer({"step": trip.step})
            return
        from nanscope.capture.event import closure
        from nanscope.diagnosis import facts
        from nanscope.replay import births
        from nanscope.replay.names import Names
        from nanscope.replay.phases import phases

        self.stop()
        known = phases(closure(trip.tape))
        for record in tracer.entries:
            record["phase"] = (
                known.get(record["event"], record["phase"]) if record["phase"] == "forward" else record["phase"]
            )
        entries = tracer.entries
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
        tracer.tell_attention(ledger)
        self.answer(ledger)
