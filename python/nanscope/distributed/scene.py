"""What a rank can say of a step besides its tensors: which calls led to the update, and under which settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from nanscope import _core, signals
from nanscope.replay.phases import phases
from nanscope.replay.places import place

if TYPE_CHECKING:
    from nanscope.capture.parallel import Parallel
    from nanscope.watcher import Watcher


def scene(watcher: Watcher, optimizer: Any, models: list[Any], parallel: Parallel) -> dict[str, Any]:
    """One rank's side of a disagreement, as `RankValue` of the run folder; `local` besides: nothing of the step was meant to be
    reduced. `models` are the `DistributedDataParallel` that it trains."""
    recorder = watcher.recorder
    base = watcher.run_folder.info["cwd"]
    events = recorder.tape.events
    inner = {id(m) for model in models for m in model.module.modules()}
    whole = {id(model) for model in models}
    backwards = [(i, e) for i, e in enumerate(events) if e.kind == "backward"]
    until = backwards[-1][0] if backwards else len(events)
    since = backwards[-2][0] if len(backwards) > 1 else 0
    calls = [(i, e) for i, e in enumerate(events[:until]) if e.kind == "module" and e.grad_mode]
    calls = [(i, e) for i, e in calls if id(e.target) in inner or id(e.target) in whole]
    under = [parallel.is_under(recorder.steps_taken, i) for i, _ in calls]
    last = calls[-1][1] if calls else None
    final = {id(e.target) for i, e in calls if i >= since}  # what the last backward went through
    # Who sets the flag without `no_sync` is seen by what the last forward has left.
    flagged = bool(models) and not all(getattr(model, "require_forward_param_sync", True) for model in models)
    treatment = phases(events)
    clips = [e for e in events if treatment.get(e.serial) == "clip" or _is_clip(e)]

    def line(event: Any) -> dict[str, Any] | None:
        return None if event is None or event.place is None else place(*event.place, base)

    called = _core.caller()
    found: dict[str, Any] = {
        "lr": signals.learning_rate(optimizer),
        "scale": watcher.scale(),
        "settings": f"{watcher._gradients.settings:016x}",
        "random": f"{_core.digest(torch.default_generator.get_state()) or 0:016x}",
        "unsynced": (under[-1] if under else False) or flagged,
        "bypassed": bool(final) and final.isdisjoint(whole),
        "local": all(under) if under and any(under) else flagged and len(calls) <= 1,
        "forward": line(last),
        "backward": line(backwards[-1][1] if backwards else None),
        "clip": line(clips[-1] if clips else None),
        "update": None if called is None else place(*called, base),
    }
    return {key: value for key, value in found.items() if value is not None}


def _is_clip(event: Any) -> bool:
    return event.kind == "call" and "clip_grad" in getattr(event.target, "__name__", "")
