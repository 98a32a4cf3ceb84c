"""What leaves a format ends at its largest value instead of infinity."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import NARROW, Site

CAUSES = ("half-overflow", "mask-constant-overflow", "exp-overflow", "loss-scale-overflow", "outlier-input")

LARGEST = 1e6  # no healthy activation is larger


@family(14)
def cast(site: Site) -> Iterator[Candidate]:
    """`x.to(torch.float16)` becomes `x.clamp(-65504, 65504).to(torch.float16)`."""
    for suspect in site.named("to_copy", "copy", "to"):
        limit = NARROW.get(suspect.dtype or "")
        if limit is None or not suspect.called("to", "half", "type", "type_as", "bfloat16"):
            continue
        assert isinstance(suspect.node, ast.Call)
        receiver = suspect.node.func.value if isinstance(suspect.node.func, ast.Attribute) else None
        if receiver is not None:
            yield candidate(
                "saturating-cast", CAUSES, Safety.SAFE,
                f"cast what fits: at most {limit:g} in {suspect.dtype}",
                f"변환 전에 {suspect.dtype}의 최댓값 {limit:g} 이하로 제한합니다",
                (suspect.source, suspect.source.method(receiver, f"clamp(-{limit:g}, {limit:g})")),
            )  # fmt: skip


@family(70)
def result(site: Site) -> Iterator[Candidate]:
    """`a + b` becomes `(a + b).clamp(-65504, 65504)`."""
    for suspect in site.suspects:
        limit = NARROW.get(suspect.dtype or "", LARGEST)
        infinite = any(
            (arg.get("counts") or {}).get(k) for arg in suspect.entry["outputs"] for k in ("posinf", "neginf")
        )
        if not infinite or not isinstance(suspect.node, ast.expr) or not suspect.operands:
            continue
        yield candidate(
            "saturate", CAUSES, Safety.SAFE,
            f"results of at most {limit:g} instead of infinity", f"결과를 무한대 대신 {limit:g} 이하로 제한합니다",
            (suspect.source, suspect.source.method(suspect.node, f"clamp(-{limit:g}, {limit:g})")),
        )  # fmt: skip
