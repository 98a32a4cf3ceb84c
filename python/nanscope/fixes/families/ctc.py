"""A target that cannot be reached counts 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.families.stable import name_of
from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Edit, Source


@family(15)
def ctc(site: Site) -> Iterator[Candidate]:
    """`zero_infinity=True` for the loss that is called, or the module that is."""
    for suspect in site.suspects:
        if "ctc_loss" not in suspect.op or not isinstance(suspect.node, ast.Call):
            continue
        source = suspect.source
        made = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and name_of(n) == "CTCLoss"]
        calls = [suspect.node] if name_of(suspect.node) == "ctc_loss" else made
        for call in calls:
            yield candidate(
                "zero-infinity", ("infeasible-target",), Safety.SAFE,
                "a target longer than its input counts 0 (zero_infinity=True)",
                "입력보다 긴 타깃의 손실을 0으로 합니다 (zero_infinity=True)",
                (source, with_keyword(source, call, "zero_infinity", "True")),
            )  # fmt: skip


def with_keyword(source: Source, call: ast.Call, name: str, value: str) -> Edit:
    """A call with one keyword argument set."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return source.replace(keyword.value, value)
    end = source.span(call)[1] - 1
    inside = source.text[:end].rstrip()
    comma = "" if inside.endswith(("(", ",")) else ", "
    return Edit(end, end, f"{comma}{name}={value}")
