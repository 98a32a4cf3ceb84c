"""The last resort: an update whose gradients are not finite is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Source


@family(90)
def guard(site: Site) -> Iterator[Candidate]:
    """`opt.step()` goes below an `if` that looks at the gradients. It removes no cause, and so names none."""
    source = site.main
    if source is None or site.report["verdict"] != "nonfinite":
        return
    for statement, optimizer in steps(source):
        if not source.alone(statement):
            continue
        finite = f'all(p.grad is None or p.grad.isfinite().all() for group in {optimizer}.param_groups for p in group["params"])'
        yield candidate(
            "skip-bad-update", (), Safety.SAFE,
            "leave out an update whose gradients are not finite; what made them so stays",
            "기울기가 유한하지 않은 업데이트를 건너뜁니다; 원인은 그대로 남습니다",
            *((source, edit) for edit in source.nested(statement, f"if {finite}:")),
        )  # fmt: skip


def steps(source: Source) -> Iterator[tuple[ast.Expr, str]]:
    """Statements `opt.step()`, and the text of `opt`; those of schedulers and scalers are not among them."""
    made = optimizers(source)
    for node in (n for n in ast.walk(source.tree) if isinstance(n, ast.Expr)):
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "step":
            name = ast.unparse(call.func.value)
            if not call.args and (name in made or (not made and "sched" not in name)):
                yield node, source.segment(call.func.value)


def optimizers(source: Source) -> dict[str, ast.Call]:
    """Names bound to an optimizer, and the call that makes it."""
    found: dict[str, ast.Call] = {}
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value).count(".parameters()")
        ):
            for target in node.targets:
                found[ast.unparse(target)] = node.value
    return found
