"""The batch, cleaned where it is first used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect

OUTSIDE = ("data", "buffer", "state", "param")


@family(35)
def clean(site: Site) -> Iterator[Candidate]:
    """`nan_to_num` around what came in bad."""
    if not {"bad-input", "poisoned-state"} & set(site.causes):
        return
    for suspect in site.suspects:
        for node in bad(suspect):
            source = suspect.source
            yield candidate(
                "clean-input", ("bad-input",), Safety.SAFE,
                "0 instead of values that are not finite in what comes in", "들어온 값 중 유한하지 않은 것을 0으로 바꿉니다",
                (source, source.method(node, "nan_to_num(0.0, 0.0, 0.0)")),
            )  # fmt: skip


@family(36)
def limit(site: Site) -> Iterator[Candidate]:
    """An outlier brought to the edge of what was seen before."""
    if "outlier-input" not in site.causes:
        return
    for suspect in site.suspects:
        for arg, node in operands(suspect):
            seen = site.seen(arg)
            if seen is not None:
                source, (low, high) = suspect.source, seen
                yield candidate(
                    "limit-input", ("outlier-input",), Safety.SAFE,
                    f"keep the input within what was seen before: {low:g} to {high:g}",
                    f"입력을 이전에 본 범위 {low:g} ~ {high:g} 안으로 제한합니다",
                    (source, source.method(node, f"clamp({low!r}, {high!r})")),
                )  # fmt: skip


def bad(suspect: Suspect) -> list[ast.expr]:
    """Expressions that are not finite and came from outside the step, or were written so."""
    if (
        any(isinstance(value, str) for value in suspect.entry.get("scalars", {}).values())
        and not suspect.entry["inputs"]
    ):
        return [suspect.node] if isinstance(suspect.node, ast.expr) else []  # `torch.full(shape, nan)`
    found = []
    for arg, node in operands(suspect):
        counts: dict[str, int] = arg.get("counts") or {}
        if (arg.get("source") or {}).get("kind") in OUTSIDE and any(counts.get(k) for k in ("nan", "posinf", "neginf")):
            found.append(node)
    return found


def operands(suspect: Suspect) -> list[tuple[dict[str, Any], ast.expr]]:
    """Tensors that the operator read, each with its expression: by position in its schema; where a module is called, what is no
    parameter by its position among the arguments."""
    node = suspect.node
    if isinstance(node, ast.Call) and suspect.receiver() is None and not suspect.called(suspect.op):
        given = [
            arg for arg in suspect.entry["inputs"] if (arg.get("source") or {}).get("kind") not in ("param", "buffer")
        ]
        return list(zip(given, (a for a in node.args if not isinstance(a, ast.Starred)), strict=False))
    return list(zip(suspect.entry["inputs"], suspect.operands, strict=False))
