"""Memory that is allocated is also written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Edit, Source
from nanscope.fixes.syntax import name_of

ZEROED = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}


@family(15)
def allocation(site: Site) -> Iterator[Candidate]:
    """`torch.empty` becomes `torch.zeros`."""
    if "uninitialised-memory" not in site.causes or site.entry is None:
        return
    for source, call in allocated(site):
        name = name_of(call)
        end = source.span(call.func)[1]
        yield candidate(
            "zero-memory", ("uninitialised-memory",), Safety.CHANGES_TRAINING,
            f"{ZEROED[name]} instead of {name}: the memory is written", f"{name} 대신 {ZEROED[name]}: 메모리가 초기화됩니다",
            (source, Edit(end - len(name), end, ZEROED[name])),
        )  # fmt: skip


def allocated(site: Site) -> Iterator[tuple[Source, ast.Call]]:
    """Calls that allocate what was read unwritten: where that was seen, else by the attribute's name."""
    assert site.entry is not None
    for arg in site.entry["inputs"]:
        found: dict[str, Any] = arg.get("source") or {}
        if found.get("place"):
            source = site.source(found["place"]["file"])
            for node in source.at(found["place"]):
                yield from ((source, n) for n in ast.walk(node) if isinstance(n, ast.Call) and name_of(n) in ZEROED)
        attribute = str(found.get("name", "")).rpartition(".")[2]
        for source in {s.source.path: s.source for s in site.suspects}.values() if attribute else ():
            for given in (n for n in ast.walk(source.tree) if isinstance(n, ast.Assign)):
                if any(ast.unparse(t) == f"self.{attribute}" for t in given.targets):
                    yield from (
                        (source, n) for n in ast.walk(given.value) if isinstance(n, ast.Call) and name_of(n) in ZEROED
                    )
