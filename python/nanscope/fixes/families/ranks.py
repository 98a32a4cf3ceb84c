"""Ranks that came apart: what is theirs alone is reduced, and what is reduced is waited for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Edit, Source
from nanscope.fixes.syntax import imported, name_of, torch_in

CAUSES = ("rank-divergence",)
HANDLE = "_work"


@family(20)
def awaited(site: Site) -> Iterator[Candidate]:
    """`.wait()` on the handle of an asynchronous collective, where it was started."""
    for source, statement in blamed(site):
        for call in ast.walk(statement):
            if isinstance(call, ast.Call) and any(k.arg == "async_op" for k in call.keywords):
                yield candidate(
                    "wait-for-collective", CAUSES, Safety.CHANGES_TRAINING,
                    "wait for the collective before its tensor is read", "텐서를 읽기 전에 집합 통신이 끝나기를 기다립니다",
                    *((source, edit) for edit in waited(source, statement, call)),
                )  # fmt: skip


def waited(source: Source, statement: ast.stmt, call: ast.Call) -> list[Edit]:
    """The handle that a call gives, waited for after the statement."""
    if isinstance(statement, ast.Expr) and statement.value is call:
        end = source.span(call)[1]
        return [Edit(end, end, ".wait()")]
    if isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name):
        return [source.after(statement, f"{statement.targets[0].id}.wait()")]
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)):
        return []
    start, end = source.span(call)
    return [Edit(start, start, f"({HANDLE} := "), Edit(end, end, ")"), source.after(statement, f"{HANDLE}.wait()")]


@family(20)
def whole_module(site: Site) -> Iterator[Candidate]:
    """`model(x)` for `model.module(x)`: only the whole reduces gradients."""
    for source, statement in blamed(site):
        for call in ast.walk(statement):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "module":
                yield candidate(
                    "call-the-whole", CAUSES, Safety.CHANGES_TRAINING,
                    "call DistributedDataParallel itself, not the module in it",
                    "DistributedDataParallel 안의 모듈 대신 DistributedDataParallel 자체를 호출합니다",
                    (source, source.replace(call.func, source.segment(call.func.value))),
                )  # fmt: skip


@family(21)
def always_synced(site: Site) -> Iterator[Candidate]:
    """No `no_sync`: every backward pass reduces gradients, which is slower and needs no condition."""
    for source, statement in blamed(site):
        block = source.above(statement, ast.With, ast.AsyncWith)
        while block is not None:
            for call in (c for item in block.items for c in ast.walk(item.context_expr)):
                if isinstance(call, ast.Call) and name_of(call) == "no_sync":
                    yield candidate(
                        "sync-every-backward", CAUSES, Safety.CHANGES_TRAINING,
                        "reduce gradients in every backward pass, without no_sync",
                        "no_sync 없이 역전파할 때마다 기울기를 리덕션합니다",
                        (source, source.replace(call, f"{contextlib_in(source)}nullcontext()")),
                    )  # fmt: skip
            block = source.above(block, ast.With, ast.AsyncWith)


def contextlib_in(source: Source) -> str:
    """What comes before a name of contextlib."""
    known = imported(source)
    if known.get("nullcontext") == "contextlib.nullcontext":
        return ""
    name = next((name for name, module in known.items() if module == "contextlib"), None)
    return f"{name}." if name is not None else '__import__("contextlib").'


@family(20)
def one_decision(site: Site) -> Iterator[Candidate]:
    """`found_inf` of a `GradScaler` reduced over ranks, so that all leave an update out or none does."""
    for source, statement in blamed(site):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr != "step" or not call.args or not source.alone(statement):
            continue
        scaler, optimizer, home = source.segment(call.func.value), source.segment(call.args[0]), distributed_in(source)
        unscaled = any(name_of(node) == "unscale_" for node in ast.walk(source.tree))
        lines = [] if unscaled else [f"{scaler}.unscale_({optimizer})"]
        lines += [
            f"for _found in {scaler}._found_inf_per_device({optimizer}).values():",
            f"{source.step()}{home}.all_reduce(_found, op={home}.ReduceOp.MAX)",
        ]
        yield candidate(
            "one-decision", CAUSES, Safety.CHANGES_TRAINING,
            "leave an update out on all ranks where it overflows on one",
            "한 랭크에서 오버플로하면 모든 랭크가 업데이트를 건너뜁니다",
            (source, source.before(statement, *lines)),
        )  # fmt: skip


@family(22)
def one_number(site: Site) -> Iterator[Candidate]:
    """What gradients are scaled by after the reduction: the largest of all ranks instead of each rank's own."""
    for source, statement in blamed(site):
        function = source.above(statement, ast.FunctionDef, ast.AsyncFunctionDef)
        torch = torch_in(source)
        if function is None or torch is None:
            continue
        home = distributed_in(source)
        for name in factors(statement):
            lines = (
                f"{name} = {torch}.as_tensor({name}).clone()",
                f"{home}.all_reduce({name}, op={home}.ReduceOp.MAX)",
            )
            edits = [(source, edit) for edit in known_first(source, function, name, lines)]
            if edits:
                yield candidate(
                    "one-number", CAUSES, Safety.CHANGES_TRAINING,
                    f"scale by the largest {name} of all ranks", f"모든 랭크의 {name} 중 가장 큰 값으로 조정합니다",
                    *edits,
                )  # fmt: skip


def factors(statement: ast.stmt) -> list[str]:
    """Names in what a statement multiplies or divides by."""
    values: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Mult, ast.Div)):
        values.append(statement.value)
    elif isinstance(statement, ast.Expr) and name_of(statement.value) in ("mul_", "div_"):
        values += statement.value.args  # type: ignore[attr-defined]
    found = (node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name))
    return list(dict.fromkeys(found))


def known_first(source: Source, function: ast.AST, name: str, lines: tuple[str, str]) -> list[Edit]:
    """`lines` where every rank comes by: after the only assignment of a name in the body of a function, or at its beginning for
    an argument."""
    body: list[ast.stmt] = function.body  # type: ignore[attr-defined]
    given = [
        s
        for s in body
        if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in s.targets)
    ]
    if len(given) == 1 and source.alone(given[0]):
        return [source.after(given[0], f"{source.newline}{source.indent(given[0])}".join(lines))]
    arguments = [argument.arg for argument in function.args.args]  # type: ignore[attr-defined]
    if not given and name in arguments and source.alone(body[0]):
        return [source.before(body[0], *lines)]
    return []


def blamed(site: Site) -> Iterator[tuple[Source, ast.stmt]]:
    """The statement that ranks came apart at."""
    if "rank-divergence" not in site.causes or not site.origin.get("file"):
        return
    source = site.source(site.origin["file"])
    statement = source.statement(site.origin["line"])
    if statement is not None:
        yield source, statement


def distributed_in(source: Source) -> str:
    """What a file calls torch.distributed."""
    known = imported(source)
    name = next((name for name, module in known.items() if module == "torch.distributed"), None)
    return name or f"{torch_in(source) or 'torch'}.distributed"
