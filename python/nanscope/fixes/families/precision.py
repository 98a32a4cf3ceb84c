"""A line, or the whole program, in a format that is wide enough."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import NARROW, Site, Suspect
from nanscope.fixes.source import Edit, Source
from nanscope.fixes.syntax import name_of, torch_in

CAUSES = (
    "half-overflow", "epsilon-lost", "underflow", "cancellation", "mask-constant-overflow", "loss-scale-overflow",
    "optimizer-epsilon", "exp-overflow", "log-of-zero", "division-by-zero", "collective-overflow",
)  # fmt: skip


PROGRAMS = (
    (
        ("float16", "half"), "bfloat16",
        "bfloat16, which has the range of float32, instead of float16", "float16 대신 범위가 float32와 같은 bfloat16을 씁니다",
    ),
    (("float16", "half", "bfloat16"), "float32", "float32 throughout", "전체를 float32로 실행합니다"),
)  # fmt: skip


@family(12)
def line_in_float32(site: Site) -> Iterator[Candidate]:
    """The operator of the origin on `.float()` operands, outside autocast."""
    for suspect in site.suspects:
        if not narrow(suspect):
            continue
        wide = float32(suspect)
        if not wide:
            continue
        source = suspect.source
        edits = [(source, edit) for edit in wide]
        statement = source.above(suspect.node, ast.stmt)
        if suspect.entry.get("autocast") and isinstance(statement, ast.stmt) and source.alone(statement):
            torch = torch_in(source) or "torch"
            device = (suspect.entry["outputs"] or suspect.entry["inputs"])[0]["device"].partition(":")[0]
            header = f'with {torch}.autocast("{device}", enabled=False):'
            edits += [(source, edit) for edit in source.nested(statement, header)]
        yield candidate(
            "float32-line", CAUSES, Safety.CHANGES_TRAINING,
            "run this line in float32", "이 줄을 float32로 실행합니다",
            *edits,
        )  # fmt: skip


def narrow(suspect: Suspect) -> bool:
    """Whether the operator worked in 8 or 16 bits."""
    args = [*suspect.entry["inputs"], *suspect.entry["outputs"]]
    return any(arg["dtype"] in NARROW for arg in args) or bool(suspect.entry.get("autocast"))


def float32(suspect: Suspect) -> list[Edit]:
    """Each operand that is a tensor, in float32."""
    tensors = len([arg for arg in suspect.entry["inputs"] if not arg["name"].startswith("saved")])
    found: list[Edit] = []
    for node in suspect.operands:
        if name_of(node) == "float":
            continue
        if len(found) < max(tensors, 1) and not isinstance(node, (ast.Constant, ast.Tuple, ast.List, ast.UnaryOp)):
            found.append(suspect.source.method(node, "float()"))
    return found if isinstance(suspect.node, ast.expr) else []


@family(50)
def wider_program(site: Site) -> Iterator[Candidate]:
    """bfloat16 instead of float16, which has the range of float32; or float32 throughout."""
    if not any(narrow(suspect) for suspect in site.suspects) and not uses(site, "float16", "half", "bfloat16"):
        return
    for old, new, en, ko in PROGRAMS:
        edits = [(source, edit) for source in uses(site, *old) for edit in renamed(source, old, new)]
        if edits:
            yield candidate(f"{new}-program", CAUSES, Safety.CHANGES_TRAINING, en, ko, *edits)


def uses(site: Site, *names: str) -> list[Source]:
    """Files of the step that name one of these types."""
    found: dict[str, Source] = {}
    for suspect in site.suspects:
        found[suspect.source.path] = suspect.source
    if site.main is not None:
        found[site.main.path] = site.main
    return [source for source in found.values() if any(re.search(rf"\b{name}\b", source.text) for name in names)]


def renamed(source: Source, old: tuple[str, ...], new: str) -> Iterator[Edit]:
    """`torch.float16` and `.half()` by another name."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in old:
            end = source.span(node)[1]
            called = isinstance(source.parents.get(node), ast.Call) and source.parents[node].func is node  # type: ignore[attr-defined]
            yield Edit(end - len(node.attr), end, {"float32": "float"}.get(new, new) if called else new)
