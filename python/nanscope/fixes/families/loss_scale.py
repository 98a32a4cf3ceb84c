"""A loss scale under which the gradients fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.families.optimizer import assigned, constant
from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Source

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
    for call in ast.walk(source.tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward"):
            continue
        for product in (
            n for n in ast.walk(call.func.value) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)
        ):
            for side in (product.right, product.left):
                value = constant(source, side)
                if isinstance(side, ast.Constant) and value is not None and value > 1.0:
                    yield side
                elif isinstance(side, ast.Name):
                    given = assigned(source, side.id)
                    if len(given) == 1 and (constant(source, given[0]) or 2.0) > 1.0 and not calls(given[0]):
                        yield given[0]


def calls(node: ast.expr) -> bool:
    """Whether an expression calls anything: then it is no setting."""
    return any(isinstance(n, ast.Call) for n in ast.walk(node))
