"""A reduction whose parts are finite and whose sum is not: smaller parts, or a wider format for the transport."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.source import Edit, Source
from nanscope.fixes.syntax import assigned, name_of

CAUSES = ("collective-overflow",)
REDUCTIONS = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor")
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
HOOKS = {"fp16_compress_hook": "bf16_compress_hook", "fp16_compress_wrapper": "bf16_compress_wrapper"}


@family(11)
def divided_first(site: Site) -> Iterator[Candidate]:
    """The division by the number of ranks that follows a reduction comes before it."""
    for source, call, scope in reductions(site):
        tensor, statement = call.args[0], source.above(call, ast.stmt)
        if not isinstance(tensor, (ast.Name, ast.Attribute)):
            continue
        for quotient, divisor in divisions(source, scope, call, tensor):
            first = f"{source.segment(tensor)}.div_({source.segment(divisor)})"
            yield candidate(
                "divide-first", CAUSES, Safety.CHANGES_TRAINING,
                "divide by the number of ranks before the reduction instead of after it",
                "랭크 수로 나누는 일을 리덕션 뒤에서 앞으로 옮깁니다",
                (source, source.before(statement, first)), (source, quotient),
            )  # fmt: skip


@family(13)
def wide_transport(site: Site) -> Iterator[Candidate]:
    """The tensor is made in float32 where it was made in 16 bits for the reduction."""
    for source, call, scope in reductions(site):
        tensor = call.args[0]
        for value in assigned(scope, tensor.id) if isinstance(tensor, ast.Name) else [tensor]:
            edit = float32(source, value)
            if edit is not None:
                yield candidate(
                    "reduce-in-float32", CAUSES, Safety.CHANGES_TRAINING,
                    "reduce in float32", "float32로 리덕션합니다",
                    (source, edit),
                )  # fmt: skip


@family(13)
def bfloat16_hook(site: Site) -> Iterator[Candidate]:
    """torch's hook that compresses gradients to bfloat16, which has the range of float32."""
    if "collective-overflow" not in site.causes or site.main is None:
        return
    source = site.main
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr in HOOKS:
            yield candidate(
                "bfloat16-hook", CAUSES, Safety.CHANGES_TRAINING,
                "compress gradients to bfloat16 instead of float16", "기울기를 float16 대신 bfloat16으로 압축합니다",
                (source, source.replace(node, f"{source.segment(node.value)}.{HOOKS[node.attr]}")),
            )  # fmt: skip


def reductions(site: Site) -> Iterator[tuple[Source, ast.Call, ast.AST]]:
    """Calls at the origin that reduce, each with the function that it stands in."""
    if "collective-overflow" not in site.causes:
        return
    seen: set[ast.AST] = set()
    for suspect in site.suspects:
        for call in ast.walk(suspect.node):
            if isinstance(call, ast.Call) and name_of(call) in REDUCTIONS and call.args and call not in seen:
                seen.add(call)
                yield suspect.source, call, suspect.source.above(call, *SCOPES) or suspect.source.tree


def divisions(source: Source, scope: ast.AST, call: ast.Call, tensor: ast.expr) -> Iterator[tuple[Edit, ast.expr]]:
    """Divisions after the call, of what it has reduced or by the number of ranks: the edit that leaves one out, and its divisor."""
    end, name = source.span(call)[1], ast.unparse(tensor)
    for node in ast.walk(scope):
        if not isinstance(node, (ast.BinOp, ast.AugAssign, ast.Call)) or source.span(node)[0] < end:
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            dividend, divisor, edit = node.left, node.right, source.replace(node, source.segment(node.left))
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            dividend, divisor, edit = node.target, node.value, source.replace(node, "pass")
        elif isinstance(node, ast.Call) and name_of(node) in ("div", "div_") and isinstance(node.func, ast.Attribute):
            if len(node.args) != 1:
                continue
            dividend, divisor, edit = (
                node.func.value,
                node.args[0],
                source.replace(node, source.segment(node.func.value)),
            )
        else:
            continue
        mentioned = any(
            ast.unparse(part) == name for part in ast.walk(dividend) if isinstance(part, (ast.Name, ast.Attribute))
        )
        if mentioned or is_world(scope, divisor):
            yield edit, divisor


def is_world(scope: ast.AST, node: ast.expr) -> bool:
    """Whether an expression is the number of ranks, or a name that was given it."""
    if isinstance(node, ast.Name):
        return any(name_of(value) == "get_world_size" for value in assigned(scope, node.id))
    return name_of(node) == "get_world_size"


def float32(source: Source, value: ast.expr) -> Edit | None:
    """An expression that makes a tensor of 16 bits, in float32."""
    for node in ast.walk(value):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        narrow = node.func.attr in ("half", "bfloat16") and not node.args
        narrow |= node.func.attr == "to" and any(ast.unparse(a).endswith(("float16", ".half")) for a in node.args)
        if narrow:
            return source.replace(node, f"{source.segment(node.func.value)}.float()")
    return None
