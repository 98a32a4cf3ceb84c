"""Watches the attention of one replay: what its heads see, and each fused kernel beside the formula."""

from __future__ import annotations

import math
import time
from typing import Any

import torch

from nanscope.attention import native, operators
from nanscope.attention.backends import others
from nanscope.attention.operators import Call
from nanscope.attention.shadow import Shadow, Unchecked
from nanscope.attention.spelled import Spelled
from nanscope.attention.statistics import MASKED, PAIRS_MAX, Heads, of_softmax
from nanscope.capture.recorder import storage_id
from nanscope.replay import births
from nanscope.replay.operators import REFUSED, Operator
from nanscope.replay.reference import below

Tensor = torch.Tensor
SECONDS_MAX = 30.0  # for all calls of a replay
_SOFTMAX = ("_softmax", "_safe_softmax")
_PRODUCTS = ("bmm", "baddbmm")


class Observer:
    """`calls`: `Attention`s of the ledger, in order of their forward operators. `writers` maps a storage to the entry that wrote it
    last, and does not know yet of an operator of which the observer is told."""

    def __init__(self, writers: dict[int, int]) -> None:
        self._writers = writers
        self._under: dict[
            int, int
        ] = {}  # entry that wrote over part of a storage -> the one that had written it before
        self.calls: list[dict[str, Any]] = []
        self.seconds = 0.0
        self._fused: dict[int, dict[str, Any]] = {}  # forward entry -> its call
        self._softmax: dict[int, Heads | None] = {}  # entry -> what its rows show
        self._products: dict[int, Tensor] = {}  # entry of a product that has left its format -> largest of each matrix
        self.refused: list[str] = []  # why calls were not looked at
        self._wrong: list[tuple[dict[str, Any], Call]] = []

    def after(self, op: Operator, args: Any, kwargs: Any, result: Any, entry: dict[str, Any], module: Any) -> None:
        """One operator has run; `entry` is in the ledger."""
        if op.overwrites and op.writes and args:
            before = self._writers.get(storage_id(args[0]))
            if before is not None:
                self._under[entry["index"]] = before
        if op.base in _SOFTMAX:
            self._timed(self._saw_softmax, args, kwargs, result, entry, module)
        elif op.base in _PRODUCTS:
            self._timed(self._saw_product, args, kwargs, entry)
        elif "attention" in op.base or "attn" in op.base or "flash" in op.base:
            self._timed(self._saw_fused, op.func, args, kwargs, result, entry)

    def _timed(self, see: Any, *given: Any) -> None:
        start = time.perf_counter()
        try:
            with below(), torch.no_grad():
                see(*given)
        except REFUSED as error:  # memory, or a form of call that nobody has met: the replay goes on
            self.refused.append(f"{type(error).__name__}: {error}")
        finally:
            self.seconds += time.perf_counter() - start

    # ---- spelled out

    def _saw_softmax(self, args: Any, kwargs: Any, result: Any, entry: dict[str, Any], module: Any) -> None:
        logits = args[0]
        dim = args[1] if len(args) > 1 else kwargs.get("dim", -1)
        if logits.dim() < 2 or dim not in (-1, logits.dim() - 1) or self.seconds > SECONDS_MAX:
            return
        heads = getattr(module, "num_heads", None) if isinstance(module, torch.nn.MultiheadAttention) else None
        self._softmax[entry["index"]] = of_softmax(logits, result, heads)

    def _saw_product(self, args: Any, kwargs: Any, entry: dict[str, Any]) -> None:
        if not any(map(births.bad, entry["outputs"])) or any(map(births.bad, entry["inputs"])):
            return
        a, b = args[-2:]
        if a.dim() == 3 == b.dim() and a.shape[0] * a.shape[1] * b.shape[2] <= PAIRS_MAX:
            self._products[entry["index"]] = (a.detach().double() @ b.detach().double()).abs().amax((-2, -1)).cpu()

    # ---- fused

    def _saw_fused(self, func: Any, args: Any, kwargs: Any, result: Any, entry: dict[str, Any]) -> None:
        call = operators.read(func, args, kwargs)
        given = {} if call is None else operators.results(func, args, kwargs, result)
        if call is None:
            call = native.read(func, args, kwargs)
        if call is None:
            return
        about = self._fused.get(entry.get("forward", -1)) if call.backward else None
        if about is None:
            about = self._about(call, entry)
            self.calls.append(about)
            self._fused[entry["index"]] = about
        elif entry["index"] not in about["members"]:
            about["members"].append(entry["index"])
        if self.seconds > SECONDS_MAX:
            about.setdefault("unchecked", f"{SECONDS_MAX:.0f} s were spent on calls before it")
            return
        try:
            shadow = Shadow(call, given)
            shadow.seen = None if call.backward else Heads(shadow.heads)
            gaps = shadow.run()
        except Unchecked as error:
            about.setdefault("unchecked", str(error))
            return
        except REFUSED as error:  # memory, or a shape that the formula does not take: the replay goes on
            about.setdefault("unchecked", f"{type(error).__name__}: {error}")
            return
        if shadow.seen is not None:
            about["heads"] = shadow.seen.plain()
        about["compared"], about["pairs"] = shadow.compared, shadow.total
        about["gaps"] += [{**gap.plain(), "entry": entry["index"]} for gap in gaps if gap.of]
        if any(gap.differ for gap in gaps) and not any(known is about for known, _ in self._wrong):
            self._wrong.append((about, call))

    def _about(self, call: Call, entry: dict[str, Any]) -> dict[str, Any]:
        batch, heads, queries, width = call.query.shape
        about: dict[str, Any] = {
            "entry": entry["index"], "members": [entry["index"]], "kind": "fused", "op": entry["op"], "backend": call.backend,
            "dtype": str(call.query.dtype).removeprefix("torch."), "width": width, "scale": call.scale,
            "shape": [batch, heads, queries, call.key.shape[2]], "gaps": [],
        }  # fmt: skip
        if call.key.shape[1] != heads:
            about["key_heads"] = call.key.shape[1]
        if call.dropout:
            about["dropout"] = call.dropout
        if call.softcap:
            about["capped"] = True
        if call.causal:
            about["causal"] = True
        if call.bias is not None:
            least = call.bias.min().item()
            about["mask"] = {"kind": "added", "dtype": str(call.bias.dtype).removeprefix("torch.")}
            if least <= MASKED:
                about["mask"]["constant"] = least if math.isfinite(least) else "-inf"
        return about

    # ---- in the end

    def finish(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All calls, places and modules as `entries` have them. To be called when the replay is over, outside its modes."""
        for index, heads in self._softmax.items():
            spelled = Spelled(entries, index, self._under)
            if not spelled.found:
                continue
            about = spelled.plain()
            if heads is not None:
                about["heads"] = heads.plain()
                self._overflown(about, spelled, len(heads.pairs))
            self.calls.append(about)
        for about, call in self._wrong:
            about["backends"] = others(call)
        self.calls.sort(key=lambda about: about["entry"])
        for about in self.calls:
            entry = entries[about["entry"]]
            about.update({key: entry[key] for key in ("place", "module", "phase") if entry.get(key) is not None})
        return self.calls

    def _overflown(self, about: dict[str, Any], spelled: Spelled, heads: int) -> None:
        """Logits that were infinite, as they are in float64."""
        largest = self._products.get(spelled.product if spelled.product is not None else -1)
        if largest is None or len(largest) % heads:
            return
        by_head = largest.reshape(-1, heads).amax(0)
        for head in about["heads"]:
            head["largest"] = by_head[head["head"]].item()

    def wrong(self) -> list[dict[str, Any]]:
        """Calls of which a result is farther from the formula than its formats allow."""
        return [about for about, _ in self._wrong]
