"""Infinite operands are brought back into the format before they meet a zero, or each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect

CAUSES = (
    "zero-times-infinity",
    "fully-masked-row",
    "masked-class-in-loss",
    "mask-constant-overflow",
    "where-gradient-trap",
)
LARGEST = {"float16": "6e4", "float64": "1e300"}


@family(40)
def finite_operands(site: Site) -> Iterator[Candidate]:
    """`p * logp` becomes `p * logp.clamp(min=-1e30)`: what is finite stays what it is."""
    for suspect in site.suspects:
        nodes = infinite(suspect)
        if not nodes:
            continue
        large = LARGEST.get(suspect.dtype or "", "1e30")
        edits = [(suspect.source, suspect.source.method(node, f"clamp(-{large}, {large})")) for node in nodes]
        yield candidate(
            "finite-operands", CAUSES, Safety.SAFE,
            f"operands of at most {large} instead of infinity", f"피연산자를 무한대 대신 {large} 이하로 제한합니다",
            *edits,
        )  # fmt: skip


def infinite(suspect: Suspect) -> list[ast.expr]:
    """The operands that hold an infinity, by their position in the operator's schema."""
    arguments = [arg for arg in suspect.entry["inputs"] if not arg["name"].startswith("saved")]
    if len(arguments) != len(suspect.operands) or not isinstance(suspect.node, ast.expr):
        return []
    pairs = zip(arguments, suspect.operands, strict=True)
    return [node for arg, node in pairs if any((arg.get("counts") or {}).get(k) for k in ("posinf", "neginf"))]
