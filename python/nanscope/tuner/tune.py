"""One step, run again with every setting of checkpointing that is shown."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any

import torch

from nanscope import _core
from nanscope.again.errand import Errand
from nanscope.audit import refused
from nanscope.outcomes import Text, text
from nanscope.replay.names import Names, outermost, variable
from nanscope.replay.phases import phases
from nanscope.replay.player import Player, Unplayable
from nanscope.stop import Stop
from nanscope.trip import Trip
from nanscope.tuner.bench import Bench, Ran
from nanscope.tuner.blocks import blocks as find_blocks
from nanscope.tuner.checkpoints import Chosen
from nanscope.tuner.sites import Sites

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

PATIENCE_STEPS = 4  # steps after the one asked for that may pass without blocks: those of another model, say
TIMES = 10  # a setting is timed so often, the shortest time counts,
SPENT_SECONDS = 2.0  # unless so much has been spent on each


class Refused(Exception):
    """The step cannot be tuned; `told` says why in every language."""

    def __init__(self, en: str, ko: str) -> None:
        super().__init__(en)
        self.told: Text = text(en, ko)


class NoBlocks(Refused):
    """Nothing in the model that ran is repeated."""


class Tuning(Errand):
    """Sees the steps of a run go by, and works on one before its update. Then the run ends: `found` is what came out, `problem`
    why nothing did."""

    def __init__(self, step: int, every: list[int], limit: int | None) -> None:
        self._step = step
        self._every, self._limit = every, limit
        self.found: Found | None = None
        self.problem: Text | None = None

    def updating(self, watcher: Watcher, optimizer: Any) -> None:
        step = watcher.clock.now() if optimizer is None else watcher.clock.step_of(optimizer)
        if step < self._step or watcher.diagnosing or self.found is not None or watcher.stopped:
            return
        watcher.diagnosing = True
        popped = watcher.recorder.enter()
        try:
            self.found = Found(watcher, optimizer, step, self._every, self._limit)
            self.problem = None
        except NoBlocks as error:
            self.problem = error.told
            if step < self._step + PATIENCE_STEPS:
                return
        except Refused as error:
            self.problem = error.told
        except Unplayable as error:
            self.problem = text(
                f"step {step} cannot be run again: {error}", f"스텝 {step}을 다시 실행할 수 없습니다: {error}"
            )
        finally:
            watcher.recorder.leave(popped)
            watcher.diagnosing = False
        watcher.stopped = True
        raise Stop

    def tripped(self, watcher: Watcher, trip: Trip) -> None:
        self.problem = text(
            f"step {trip.step} is not healthy ({trip.where} {trip.kind}); `nanscope run` finds out why",
            f"스텝 {trip.step}이 정상이 아닙니다 ({trip.where} {trip.kind}); `nanscope run` 으로 원인을 찾을 수 있습니다",
        )


class Found:
    """What one step has shown. `plain` are the keys of `nanscope.checkpoint/1` that are known by then."""

    def __init__(self, watcher: Watcher, optimizer: Any, step: int, every: list[int], limit: int | None) -> None:
        reason = refused(watcher)
        if reason is not None:
            raise Refused(f"the step cannot be run again: {reason}", f"스텝을 다시 실행할 수 없습니다: {reason}")
        self._watcher, self._optimizer = watcher, optimizer
        self.step, self.loss = step, watcher.calm.loss
        recorder = watcher.recorder
        self.roots = outermost(list(recorder.roots))
        self._names = Names(self.roots, list(watcher.optimizers))
        modules = find_blocks(self.roots)
        if not modules:
            raise no_blocks(self.roots)
        self._tape = watcher.keep_tape()
        last = None if optimizer is None else recorder.event("step", optimizer, random=True)
        parameters = watcher._parameters()
        buffers = [b for root in self.roots for b in root.buffers()]
        scalers = [watcher.scaler] if watcher.scaler is not None else []
        self._parameters, self._buffers = parameters, buffers
        self.bench = Bench(self._tape, last, optimizer, scalers, parameters, buffers)
        self.bench.settle_update()
        plain = Chosen([])
        trace = self._traced(modules)
        first = self._checked(self.bench.run(plain))
        again = self._checked(self.bench.run(plain))
        trace["seconds"] = min(first.seconds, again.seconds)
        self._noisy = first.bits != again.bits
        for block, seconds in zip(trace["blocks"], self.bench.seconds(self.blocks, 3), strict=True):
            block["seconds"] = seconds
        planned = json.loads(_core.checkpoint_plan(json.dumps(trace), every, limit))
        self._measure(planned["settings"], first)
        none = planned["settings"][0].get("measured")
        if none is not None:  # timed more often than the trace
            more = none["seconds"] - trace["seconds"]
            for cost in [*(s["predicted"] for s in planned["settings"]), *planned["front"]]:
                cost["seconds"] += more
        self.sites = Sites(self.blocks, watcher.run_folder.info["cwd"])
        self.bench.run(self.sites.whole)
        device = next((str(p.device) for p in parameters), "cpu")
        self.plain: dict[str, Any] = {
            "schema": "nanscope.checkpoint/1", "script": watcher.run_folder.info["script"], "step": step, "device": device,
            "counted": self.bench.counted, "resident": self.bench.resident, "blocks": trace["blocks"], **planned,
        }  # fmt: skip
        if limit is not None:
            self.plain["limit"] = limit
        self.enable = _enable(self.roots)

    def _traced(self, modules: list[torch.nn.Module]) -> dict[str, Any]:
        """`nanscope_tune::Trace` but for times; `blocks` are those of `modules` that keep something for backward."""
        timeline, ran = self.bench.traced(modules)
        self._checked(ran)
        regions = [r for r in timeline.regions if "end" in r]
        keeping = {
            r["block"] for r in regions if "block" in r
            and any(r["begin"] <= h["packed"] < r["end"] and "unpacked" in h for h in timeline.holders)
        }  # fmt: skip
        order = list(dict.fromkeys(r["block"] for r in regions if r.get("block") in keeping))
        if not order:
            raise no_blocks(self.roots)
        self.blocks = [modules[at] for at in order]
        place = {at: i for i, at in enumerate(order)}
        for region in regions:
            if "block" in region:
                region["block"] = place.get(region["block"], -1)
        names = self._names.modules
        return {
            "ticks": timeline.ticks, "resident": self.bench.resident,
            "storages": timeline.storages, "holders": timeline.holders,
            "regions": [r for r in regions if r.get("block") != -1],
            "blocks": [{"name": names.get(id(m), type(m).__name__), "class": type(m).__name__} for m in self.blocks],
        }  # fmt: skip

    def _checked(self, ran: Ran) -> Ran:
        if ran.error is not None:
            raise Refused(
                f"step {self.step} cannot be run without checkpointing: {ran.error}",
                f"스텝 {self.step}을 체크포인팅 없이 실행할 수 없습니다: {ran.error}",
            )
        return ran

    # ---- settings

    def _whole(self, setting: dict[str, Any]) -> Any:
        if "blocks" not in setting:
            return contextlib.nullcontext
        return Chosen([self.blocks[at] for at in setting["blocks"]])

    def _measure(self, settings: list[dict[str, Any]], reference: Ran) -> None:
        """Runs every setting: once with its memory counted, and in turns to be timed."""
        peaks: dict[str, int] = {}
        for setting in settings:
            ran = self.bench.measured(self._whole(setting))
            if ran.error is not None or ran.peak is None:
                setting["note"] = ran.error or "its memory could not be measured"
                continue
            peaks[setting["id"]] = ran.peak
            setting["parity"] = "identical" if ran.bits == reference.bits else "noise" if self._noisy else "differs"
            if setting["parity"] == "differs":
                setting["note"] = self._first_difference(self._whole(setting))
            elif (twice := self._twice(reference, ran)) is not None:
                setting["note"] = twice[self._watcher.run_folder.lang]
        shortest: dict[str, float] = {}
        start = time.monotonic()
        for _ in range(TIMES):
            for setting in (s for s in settings if s["id"] in peaks):
                ran = self.bench.run(self._whole(setting))
                shortest[setting["id"]] = min(ran.seconds, shortest.get(setting["id"], float("inf")))
            if time.monotonic() - start > SPENT_SECONDS * len(settings):
                break
        for setting in settings:
            if setting["id"] in peaks:
                setting["measured"] = {"bytes": peaks[setting["id"]], "seconds": shortest[setting["id"]]}

    def _twice(self, reference: Ran, ran: Ran) -> Text | None:
        """Buffers that the recomputation has changed once more: running statistics, counters."""
        pairs = zip(self._buffers, reference.buffers, ran.buffers, strict=True)
        names = [self._names.of(buffer) or "a buffer without a name" for buffer, was, now in pairs if was != now]
        if not names or self._noisy:
            return None
        more = len(names) - 1
        others, beside = (f", and {more} others", f" 외 {more}개가") if more else ("", "이(가)")
        return text(
            f"gradients are the same, but running the blocks again changes {names[0]} once more{others}",
            f"기울기는 같지만 블록을 다시 실행하면 {names[0]}{beside} 한 번 더 바뀝니다",
        )

    def _first_difference(self, whole: Any) -> str:
        """What the recomputation did that forward did not, as far as operators tell."""
        from nanscope.replay.parity import Parity
        from nanscope.replay.witness import Witness

        watcher = self._watcher
        base, seen = watcher.run_folder.info["cwd"], watcher.audit.seen
        seen.nodes = set()
        try:
            witness = Witness(watcher.recorder.empties, base, seen)
            player = Player(self._tape, None, [], [])
            witness.phases = phases(player.events)
            with whole():
                player.play(witness.around, self._parameters, witness.put_back)
            found = Parity(witness, [], [])
            parity = {} if found.equal else found.plain(self._names, base)
        except Unplayable as error:
            return f"losses or gradients differ ({error})"
        finally:
            seen.any, seen.nodes = False, None
        first = parity.get("first")
        if first is None:
            return "losses or gradients differ, though every operator gives the same when it is run again"
        place = first.get("place") or first.get("block")
        where = f" ({place['file']}:{place['line']})" if place else ""
        return f"{first['op']}{where} gives something else when it is run again"


def no_blocks(roots: list[torch.nn.Module]) -> NoBlocks:
    """Says what was looked at."""
    names = ", ".join(dict.fromkeys(type(root).__name__ for root in roots)) or "no module"
    return NoBlocks(
        f"no repeated blocks in {names}: expected at least two modules of one class in a ModuleList or Sequential that "
        "are run with gradients",
        f"{names}에 반복되는 블록이 없습니다: ModuleList나 Sequential 안에서 기울기와 함께 실행되는 같은 클래스의 모듈이 "
        "둘 이상 필요합니다",
    )


def _enable(roots: list[torch.nn.Module]) -> str | None:
    """The call by which a model of `transformers` checkpoints all its blocks."""
    for root in roots:
        if callable(getattr(root, "gradient_checkpointing_enable", None)):
            return f"{variable(root) or 'model'}.gradient_checkpointing_enable()"
    return None
