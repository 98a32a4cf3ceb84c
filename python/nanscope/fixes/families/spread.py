"""The spread of one element is 0, not undefined."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect
from nanscope.fixes.source import Edit

CAUSES = ("single-element-spread", "division-by-zero", "empty-reduction")


@family(16)
def spread(site: Site) -> Iterator[Candidate]:
    """`x.std()` becomes `x.std() if x.numel() > 1 else 0`, or `x.std(correction=0)`."""
    for suspect in site.named("std", "var", "std_mean", "var_mean"):
        if not suspect.called(suspect.op):
            continue
        source, node, tensor = suspect.source, suspect.node, suspect.operands[0]
        plain = isinstance(node, ast.Call) and not node.keywords and len(suspect.operands) == 1
        if plain and isinstance(tensor, (ast.Name, ast.Attribute)) and suspect.op in ("std", "var"):
            text, name = source.segment(node), source.segment(tensor)
            yield candidate(
                "zero-when-single", CAUSES, Safety.SAFE,
                "the spread of a single element is 0", "원소가 하나이면 퍼진 정도를 0으로 합니다",
                (source, source.replace(node, f"({text} if {name}.numel() > 1 else {name}.sum() * 0.0)")),
            )  # fmt: skip
        edit = biased(suspect)
        if edit is not None:
            yield candidate(
                "biased-spread", CAUSES, Safety.CHANGES_TRAINING,
                "divide by n instead of n - 1: defined for a single element, too",
                "n - 1 대신 n으로 나눕니다: 원소가 하나여도 정의됩니다",
                (source, edit),
            )  # fmt: skip


def biased(suspect: Suspect) -> Edit | None:
    """The call with `correction=0`."""
    node = suspect.node
    if not isinstance(node, ast.Call):
        return None
    for keyword in node.keywords:
        if keyword.arg in ("unbiased", "correction"):
            return suspect.source.replace(keyword.value, "False" if keyword.arg == "unbiased" else "0")
    end = suspect.source.span(node)[1] - 1
    comma = ", " if node.args or node.keywords else ""
    return Edit(end, end, f"{comma}correction=0")
