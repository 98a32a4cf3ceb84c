"""The answer of a whole job: what its ranks have answered, as one."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

from nanscope import _core


def joint(own: dict[str, Any] | None, spec: dict[str, Any], out: str) -> dict[str, Any]:
    """The answers in the folder `spec["ranks"]` as one; `own` is that of the process that has started the ranks, and stands where
    none of them has trained. `out` is the run folder of all.

    A job has got as far as the rank that is behind. The losses and the time of a step are those of rank `spec["rank"]`.
    """
    answers = []
    for path in sorted(glob.glob(os.path.join(glob.escape(spec["ranks"]), "*.json"))):
        with open(path, encoding="utf-8") as file:
            answers.append(json.load(file))
    if not answers:
        return own or {"trip": None, "how": "died", "raised": None, "steps": 0, "clock": []}
    members = [one for one in answers if os.path.basename(os.path.dirname(one["log"])) == spec.get("group")]
    members = members if spec.get("group") else answers
    if own is not None and own["steps"]:
        members = [own, *members]  # one of the ranks itself
    merged = json.loads(_core.merged(out, "en"))
    trip = None if merged["verdict"] == "finite" else merged.get("trip")
    behind = min(members, key=lambda one: one["steps"], default=None)
    failed = next((one for one in members if one["how"] == "raised"), None)
    nobody: dict[str, Any] = {"clock": [], "log": None}
    one_of = next((one for one in members if one["rank"] == spec["rank"]), nobody)
    missing = len(members) < spec.get("world", 1)
    found: dict[str, Any] = {
        "trip": trip and {"step": trip.get("seen") or trip["step"], "where": trip["where"], "kind": trip["kind"]},
        "how": "died" if missing or behind is None else (failed or behind)["how"],
        "raised": None if failed is None else failed["raised"],
        "steps": 0 if missing or behind is None else behind["steps"],
        "clock": one_of["clock"],
        "log": one_of["log"],
    }
    if trip is not None:
        _, _, ledger, _ = _core.rank(out, trip["rank"])
        found |= {"report": merged, "ledger": ledger}
    return found
