"""A loss scale under which the gradients fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Source
from nanscope.fixes.syntax import assigned, calls, constant

SMALLER = (256.0, 65536.0)


@family(10)
def loss_scale(site: Site) -> Iterator[Candidate]:
    """The constant that the loss is multiplied with, divided by a power of two."""
    if site.main is None or not {"loss-scale-overflow", "loss-scale-collapse", "half-overflow"} & set(site.causes):
        return
    source = site.main
    for node in scales(source):
        value = constant(source, node)
        for divisor in SMALLER:
            if value is not None and value / divisor < 1.0:
                continue
            text = f"({source.segment(node)}) / {divisor:g}" if value is None else repr(value / divisor)
            yield candidate(
                "smaller-scale", ("loss-scale-overflow", "half-overflow"), Safety.CHANGES_TRAINING,
                f"a loss scale {divisor:g} times smaller", f"손실 스케일을 {divisor:g}배 줄입니다",
                (source, source.replace(node, text)),
            )  # fmt: skip


def scales(source: Source) -> Iterator[ast.expr]:
    """What a value is multiplied with right before `backward`: where the factor, or the name it has, is given its value."""
    for call in calls(source.tree, "backward"):
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call
        for product in (n for n in ast.walk(receiver) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)):
            for side in (product.right, product.left):
                value = constant(source, side)
                if isinstance(side, ast.Constant) and value is not None and value > 1.0:
                    yield side
                elif isinstance(side, ast.Name):
                    given = assigned(source.tree, side.id)
                    # What is computed by a call is no setting.
                    setting = len(given) == 1 and not any(isinstance(n, ast.Call) for n in ast.walk(given[0]))
                    if setting and (constant(source, given[0]) or 2.0) > 1.0:
                        yield given[0]
