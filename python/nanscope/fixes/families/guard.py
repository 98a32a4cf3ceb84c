"""The last resort: an update whose gradients are not finite is left out."""

from __future__ import annotations

from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.syntax import steps


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
