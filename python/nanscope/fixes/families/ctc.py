"""A target that cannot be reached counts 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.syntax import calls, name_of, with_keyword


@family(15)
def ctc(site: Site) -> Iterator[Candidate]:
    """`zero_infinity=True` for the loss that is called, or the module that is."""
    for suspect in site.suspects:
        if "ctc_loss" not in suspect.op or not isinstance(suspect.node, ast.Call):
            continue
        source = suspect.source
        here = name_of(suspect.node) == "ctc_loss"
        for call in [suspect.node] if here else calls(source.tree, "CTCLoss"):
            yield candidate(
                "zero-infinity", ("infeasible-target",), Safety.SAFE,
                "a target longer than its input counts 0 (zero_infinity=True)",
                "입력보다 긴 타깃의 손실을 0으로 합니다 (zero_infinity=True)",
                (source, with_keyword(source, call, "zero_infinity", "True")),
            )  # fmt: skip
