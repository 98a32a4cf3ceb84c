"""A mean over nothing gives way to zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site

CAUSES = ("empty-reduction", "infeasible-target")


@family(15)
def emptiness(site: Site) -> Iterator[Candidate]:
    """`x.mean()` becomes `x.mean() if x.numel() else x.sum()`; a loss without a target becomes 0."""
    for suspect in site.named("mean", "nanmean", "median", "std", "var", "amax", "amin", "max", "min"):
        if not suspect.called(suspect.op) or any(
            arg.get("shape") and 0 not in arg["shape"] for arg in suspect.entry["inputs"]
        ):
            continue
        source, node, tensor = suspect.source, suspect.node, suspect.operands[0]
        name, text = source.segment(tensor), source.segment(node)
        if not isinstance(tensor, (ast.Name, ast.Attribute)):
            text, name = text.replace(name, "_x", 1), f"(_x := {name})"
        total = "sum()"
        if suspect.called("mean", "nanmean") and isinstance(node, ast.Call):  # of the same shape: ranks may reduce it
            given = node.args if suspect.receiver() is not None else node.args[1:]
            total = f"sum({', '.join(source.segment(part) for part in [*given, *node.keywords])})"
        short = name if name.isidentifier() or ("." in name and ":=" not in name) else "_x"
        yield candidate(
            "zero-when-empty", CAUSES, Safety.SAFE,
            "where there is no element, 0 instead of the mean", "원소가 없으면 평균 대신 0을 씁니다",
            (source, source.replace(node, f"({text} if {name}.numel() else {short}.{total})")),
        )  # fmt: skip
    for suspect in site.named("nll_loss_forward", "nll_loss2d_forward"):
        source, node = suspect.source, suspect.node
        if not isinstance(node, ast.Call):
            continue
        target = suspect.keyword("target") or (node.args[1] if len(node.args) > 1 else None)
        scores = suspect.keyword("input") or (node.args[0] if node.args else None)
        if target is None or scores is None:
            continue
        ignored = suspect.entry.get("scalars", {}).get("ignore_index", -100)
        target_text, scores_text = source.operand(target), source.operand(scores)
        yield candidate(
            "zero-without-targets", CAUSES, Safety.SAFE,
            f"where every target is {ignored:.0f} (ignored), the loss is 0",
            f"타깃이 모두 {ignored:.0f}(무시)이면 손실을 0으로 합니다",
            (
                source,
                source.replace(
                    node,
                    f"({source.segment(node)} if ({target_text} != {ignored:.0f}).any() else {scores_text}.sum() * 0.0)",
                ),
            ),
        )  # fmt: skip
