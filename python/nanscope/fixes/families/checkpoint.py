"""A block that computes something else when it is run again is not run again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Source
from nanscope.fixes.syntax import calls, with_keyword

OPTIONS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")


@family(15)
def checkpoint(site: Site) -> Iterator[Candidate]:
    """Random state restored; or `checkpoint(block, x)` becomes `block(x)`."""
    if "recompute-mismatch" not in site.causes:
        return
    for source in files(site):
        for call in calls(source.tree, "checkpoint"):
            for keyword in (k for k in call.keywords if k.arg == "preserve_rng_state"):
                yield candidate(
                    "restore-random-state", ("recompute-mismatch",), Safety.CHANGES_TRAINING,
                    "restore the random state before the block is run again", "블록을 다시 실행하기 전에 난수 상태를 되돌립니다",
                    (source, source.replace(keyword.value, "True")),
                )  # fmt: skip
            for keyword in (k for k in call.keywords if k.arg == "use_reentrant"):
                if isinstance(keyword.value, ast.Constant) and keyword.value.value:
                    yield candidate(
                        "not-reentrant", ("recompute-mismatch",), Safety.CHANGES_TRAINING,
                        "checkpoint without re-entering autograd", "autograd에 다시 들어가지 않는 체크포인팅을 씁니다",
                        (source, with_keyword(source, call, "use_reentrant", "False")),
                    )  # fmt: skip
            if call.args and not any(isinstance(a, ast.Starred) for a in call.args[:1]):
                kept = [source.segment(a) for a in call.args[1:]]
                kept += [source.segment(k) for k in call.keywords if k.arg not in OPTIONS]
                yield candidate(
                    "no-checkpoint", ("recompute-mismatch",), Safety.CHANGES_TRAINING,
                    "do not checkpoint this block: it takes more memory, and the gradients are those of the forward pass",
                    "이 블록에는 체크포인팅을 쓰지 않습니다: 메모리는 더 쓰지만 기울기는 순전파의 것이 됩니다",
                    (source, source.replace(call, f"{source.operand(call.args[0])}({', '.join(kept)})")),
                )  # fmt: skip


def files(site: Site) -> list[Source]:
    """Files of the step."""
    places = [entry.get("place") for entry in site.ledger["entries"]] + [site.origin if "file" in site.origin else None]
    parity = site.ledger.get("parity") or {}
    found = {place["file"] for place in places if place} | set(named(parity))
    return [site.source(file) for file in sorted(found) if not site.is_foreign(file)]


def named(value: object) -> Iterator[str]:
    """Every file that is named in plain data."""
    if isinstance(value, dict):
        if isinstance(value.get("file"), str):
            yield value["file"]
        for item in value.values():
            yield from named(item)
    elif isinstance(value, list):
        for item in value:
            yield from named(item)
