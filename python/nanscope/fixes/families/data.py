"""The batch, cleaned where it is first used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import OUTSIDE, Site, Suspect, operands_of
from nanscope.fixes.source import Edit, Source


@family(35)
def clean(site: Site) -> Iterator[Candidate]:
    """`nan_to_num` around what came in bad."""
    if not {"bad-input", "poisoned-state"} & set(site.causes):
        return
    for suspect in site.suspects:
        for node in bad(suspect):
            yield candidate(
                "clean-input", ("bad-input",), Safety.SAFE,
                "0 instead of values that are not finite in what comes in", "들어온 값 중 유한하지 않은 것을 0으로 바꿉니다",
                (suspect.source, cleaned(suspect.source, node)),
            )  # fmt: skip


@family(36)
def limit(site: Site) -> Iterator[Candidate]:
    """An outlier brought to the edge of what was seen before."""
    if "outlier-input" not in site.causes:
        return
    for known in (site.ledger.get("history") or {}).get("inputs", []):
        low, high = known.get("low"), known.get("high")
        if not known.get("odd") or not isinstance(low, float) or not isinstance(high, float):
            continue
        bounds = f"clamp({low!r}, {high!r})"
        edits = [
            (suspect.source, suspect.source.method(node, bounds)) for suspect, node in site.readers(known.get("name"))
        ]
        edits += [
            (source, source.before(body, f"{name} = {name}.{bounds}"))
            for source, body, name in entered(site, known.get("name"))
        ]
        edits += [(suspect.source, suspect.source.method(node, bounds)) for suspect, node in called(site)]
        for edit in edits:
            yield candidate(
                "limit-input", ("outlier-input",), Safety.SAFE,
                f"keep the input within what was seen before: {low:.6g} to {high:.6g}",
                f"입력을 이전에 본 범위 {low:.6g} ~ {high:.6g} 안으로 제한합니다",
                edit,
            )  # fmt: skip


def entered(site: Site, name: str | None) -> Iterator[tuple[Source, ast.stmt, str]]:
    """The method that an input is an argument of: its first statement, and the argument's name."""
    found = re.fullmatch(r"argument (\w+) of (\w+)\.(\w+)", name or "")
    for source in {s.source.path: s.source for s in site.suspects}.values() if found else ():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and found and node.name == found[2]:
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name == found[3]:
                        names = [a.arg for a in method.args.args]
                        if found[1] in names and source.alone(method.body[0]):
                            yield source, method.body[0], found[1]


def called(site: Site) -> list[tuple[Suspect, ast.expr]]:
    """Modules that the training loop calls at the origin, with their first argument."""
    inside = str(site.origin.get("function", "")).endswith(".forward")
    calls = ((s, s.node) for s in site.suspects if not inside and s.receiver() is None and not s.called(s.op))
    return [(suspect, node.args[0]) for suspect, node in calls if isinstance(node, ast.Call) and node.args][:1]


def cleaned(source: Source, node: ast.expr) -> Edit:
    """What is not finite replaced by 0: in the value of an expression; in what an assignment has written, after it."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return source.method(node, "nan_to_num(0.0, 0.0, 0.0)")
    statement = source.above(node, ast.stmt)
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        base = base.value
    end = source.span(statement)[1]
    line = f"{source.segment(base)}.nan_to_num_(0.0, 0.0, 0.0)"
    return Edit(end, end, f"{source.newline}{source.indent(statement)}{line}")


def bad(suspect: Suspect) -> list[ast.expr]:
    """Expressions that are not finite and came from outside the step, or were written so."""
    node = suspect.node
    if not isinstance(node, ast.expr):
        return []
    stored = isinstance(getattr(node, "ctx", None), ast.Store)
    constant = any(isinstance(value, str) for value in suspect.entry.get("scalars", {}).values())
    if stored or (constant and not suspect.entry["inputs"]):
        return [node]  # `x[3] = nan`, `torch.full(shape, nan)`
    found = []
    for arg, operand in operands_of(suspect):
        counts: dict[str, int] = arg.get("counts") or {}
        if (arg.get("source") or {}).get("kind") in OUTSIDE and any(counts.get(k) for k in ("nan", "posinf", "neginf")):
            found.append(operand)
    written = any((arg.get("counts") or {}).get("nan") for arg in suspect.entry["outputs"])
    if not found and written and isinstance(node, ast.Call) and suspect.backward is None:
        return [node]  # a list of tensors, or what cannot be told apart
    return found
