"""A denominator that is kept away from zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect

CAUSES = (
    "division-by-zero", "empty-reduction", "single-element-spread", "where-gradient-trap", "infinite-derivative",
    "optimizer-epsilon", "gradient-edit", "zero-times-infinity", "underflow", "cancellation", "epsilon-lost",
)  # fmt: skip
FLOORS = {"float16": "1e-4", "bfloat16": "1e-6", "float32": "1e-6", "float64": "1e-12"}


@family(30)
def denominators(site: Site) -> Iterator[Candidate]:
    """`a / b` becomes `a / b.clamp(min=eps)`: healthy denominators are larger, and stay what they are."""
    for suspect in site.named("div", "reciprocal", "rsqrt", "pow"):
        node = denominator(suspect)
        if node is None:
            continue
        if suspect.argument("self" if suspect.op in ("reciprocal", "rsqrt", "pow") else "other") is None:
            for floor in ("1", "1e-6"):  # a number of Python's
                yield candidate(
                    "floor-denominator", CAUSES, Safety.SAFE,
                    f"keep the denominator at {floor} or above", f"분모가 {floor}보다 작아지지 않게 합니다",
                    (suspect.source, suspect.source.replace(node, f"max({suspect.source.segment(node)}, {floor})")),
                )  # fmt: skip
            continue
        for floor in floors(suspect):
            yield candidate(
                "floor-denominator", CAUSES, Safety.SAFE,
                f"keep the denominator at {floor} or above", f"분모가 {floor}보다 작아지지 않게 합니다",
                (suspect.source, suspect.source.method(node, f"clamp(min={floor})")),
            )  # fmt: skip
        inside = suspect.source.segment(node)
        yield candidate(
            "replace-zero-denominator", CAUSES, Safety.SAFE,
            "where the denominator is 0, divide by 1 instead", "분모가 0인 곳에서는 1로 나눕니다",
            (suspect.source, suspect.source.grouped(node, f"{inside} + ({inside} == 0)")),
        )  # fmt: skip


def denominator(suspect: Suspect) -> ast.expr | None:
    """What must not be zero."""
    node, operands = suspect.node, suspect.operands
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        if isinstance(node.op, ast.Div):
            return operands[1]
        negative = isinstance(node.op, ast.Pow) and ast.unparse(operands[1]).lstrip("(").startswith("-")
        return operands[0] if negative else None
    if suspect.called("div", "divide", "true_divide"):
        return operands[1] if len(operands) > 1 else None
    exponent = suspect.entry.get("scalars", {}).get("exponent")
    if suspect.called("pow") and not (isinstance(exponent, (int, float)) and exponent < 0):
        return None
    if suspect.called("reciprocal", "rsqrt", "pow"):
        return operands[0] if operands else None
    return None


def floors(suspect: Suspect) -> list[str]:
    """Floors to try: 1 for what is a count, then the smallest that the format can divide by safely. None where the denominator
    may be negative."""
    name = "self" if suspect.op in ("reciprocal", "rsqrt", "pow") else "other"
    arg = suspect.argument(name) or {}
    small = FLOORS.get(suspect.dtype or "float32", "1e-6")
    if not arg.get("dtype", "float").startswith(("float", "bfloat")):
        return ["1"]
    census = arg.get("census") or {}
    low, high = census.get("min"), census.get("max")
    if low is not None and low < 0:
        return []
    count = high is not None and high >= 1 and float(high).is_integer()
    return ["1", small] if count else [small]
