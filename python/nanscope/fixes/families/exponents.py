"""An exponent that is kept below where exp leaves the format."""

from __future__ import annotations

from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site

CAUSES = ("exp-overflow", "half-overflow", "outlier-input", "divergence")
LIMITS = {"float16": ("10", "5"), "float64": ("700", "80", "5")}
WIDE = ("80", "20", "5")


@family(30)
def exponents(site: Site) -> Iterator[Candidate]:
    """`exp(x)` becomes `exp(x.clamp(max=80))`: a healthy exponent is smaller, and stays what it is."""
    for suspect in site.named("exp", "expm1", "exp2", "sinh", "cosh"):
        if not suspect.called(suspect.op):
            continue
        node = suspect.operands[0]
        for limit in LIMITS.get(suspect.dtype or "", WIDE):
            yield candidate(
                "limit-exponent", CAUSES, Safety.SAFE,
                f"keep the exponent at {limit} or below", f"지수가 {limit}보다 커지지 않게 합니다",
                (suspect.source, suspect.source.method(node, f"clamp(max={limit})")),
            )  # fmt: skip
