"""The argument of a function is kept where the function and its derivative are finite."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect

CAUSES = (
    "infinite-derivative", "log-of-zero", "negative-argument", "where-gradient-trap", "cancellation", "underflow",
    "epsilon-lost", "optimizer-epsilon", "zero-times-infinity", "gradient-edit", "singular-matrix",
)  # fmt: skip
FLOORS = {"float16": "1e-4", "bfloat16": "1e-12", "float32": "1e-12", "float64": "1e-24"}
POSITIVE = ("sqrt", "log", "log2", "log10", "log1p", "rsqrt", "xlogy", "digamma", "lgamma")
BOTH = ("acos", "asin", "atanh", "erfinv", "arccos", "arcsin", "arctanh")


@family(30)
def arguments(site: Site) -> Iterator[Candidate]:
    """`log(x)` becomes `log(x.clamp(min=1e-12))`: a healthy argument is larger, and stays what it is."""
    for suspect in site.named(*POSITIVE):
        node = argument(suspect)
        if node is None:
            continue
        floor = "-1 + 1e-6" if suspect.op == "log1p" else FLOORS.get(suspect.dtype or "float32", "1e-12")
        yield candidate(
            "floor-argument", CAUSES, Safety.SAFE,
            f"keep the argument of {suspect.op} at {floor} or above", f"{suspect.op}의 인수가 {floor}보다 작아지지 않게 합니다",
            (suspect.source, suspect.source.method(node, f"clamp(min={floor})")),
        )  # fmt: skip
    for suspect in site.named(*BOTH):
        node = argument(suspect)
        if node is not None:
            yield candidate(
                "limit-argument", CAUSES, Safety.SAFE,
                f"keep the argument of {suspect.op} off -1 and 1", f"{suspect.op}의 인수가 -1과 1에 닿지 않게 합니다",
                (
                    suspect.source,
                    suspect.source.method(node, "clamp(-1 + 1e-6, 1 - 1e-6)"),
                ),
            )  # fmt: skip
    for suspect in site.named("pow"):
        node, power = base(suspect)
        if node is not None and power is not None and power > 0 and not float(power).is_integer():
            floor = FLOORS.get(suspect.dtype or "float32", "1e-12")
            yield candidate(
                "floor-base", CAUSES, Safety.SAFE,
                f"keep the base of the power at {floor} or above", f"거듭제곱의 밑이 {floor}보다 작아지지 않게 합니다",
                (suspect.source, suspect.source.method(node, f"clamp(min={floor})")),
            )  # fmt: skip


def argument(suspect: Suspect) -> ast.expr | None:
    """What the function is applied to, where the expression is a call of it."""
    aliases = {"acos": "arccos", "asin": "arcsin", "atanh": "arctanh"}
    if not suspect.called(suspect.op, aliases.get(suspect.op, suspect.op)):
        return None
    return suspect.operands[0] if suspect.operands else None


def base(suspect: Suspect) -> tuple[ast.expr | None, float | None]:
    """Base and exponent of a power; the exponent where it is a number in the source or in the ledger."""
    node = suspect.node
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    if not (power or suspect.called("pow", "float_power")) or len(suspect.operands) < 2:
        return None, None
    exponent = suspect.entry.get("scalars", {}).get("exponent", 0.5)
    return suspect.operands[0], exponent if isinstance(exponent, (int, float)) else 0.5
