"""Another number format: throughout, on one line, for one operator of a line, or in one module."""

from __future__ import annotations

import math
from typing import Any

import torch

from nanscope.experiments.bench import Bench
from nanscope.experiments.recast import Recast
from nanscope.experiments.sites import Site, statement


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: `dtype`, and `file` with `lines` (first, last) and perhaps `op`, or `module`, or nothing: throughout.
    `instead_of` casts that format alone. The loss in float64 throughout becomes the reference of all others."""
    wanted = planned["arguments"]
    change = chosen(bench, wanted)
    if change is None:
        return []
    if "file" in wanted or "module" in wanted or wanted["dtype"] != "float64":
        found = bench.outcome(planned, change)
        return [] if found is None else [found]
    trial = bench.run(change)
    if trial.error is not None:
        return []
    if trial.loss is not None and math.isfinite(trial.loss):
        bench.reference = trial.loss
    return [bench.told(planned, trial, change)]


def chosen(bench: Bench, wanted: dict[str, Any]) -> Recast | None:
    """The change; `None` where what is named is not there."""
    dtype: torch.dtype = getattr(torch, wanted["dtype"])
    instead_of = getattr(torch, wanted["instead_of"]) if "instead_of" in wanted else None
    if "module" in wanted:
        inside = modules(bench, wanted["module"])
        return Recast(dtype, lambda site, _op: id(site.module) in inside) if inside else None
    if "file" not in wanted:
        return Recast.throughout(dtype, instead_of)
    of = statement(bench.base)
    place = (wanted["file"], *wanted["lines"])
    op = wanted.get("op")

    def here(site: Site, name: str) -> bool:
        return (op is None or op == name) and of(site) == place

    return Recast(dtype, here)


def modules(bench: Bench, name: str) -> set[int]:
    """Identities of the module of this name and of all inside it."""
    for root in bench.trip.roots:
        for module in root.modules():
            if bench.names.modules.get(id(module)) == name:
                return {id(inner) for inner in module.modules()}
    return set()
