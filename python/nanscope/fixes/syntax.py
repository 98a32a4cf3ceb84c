"""What a syntax tree tells of a program: imports, calls, constants, optimizers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.source import Edit, Source


def imported(source: Source) -> dict[str, str]:
    """Names that a file imports, and what they stand for: `{"F": "torch.nn.functional"}`."""
    found: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def torch_in(source: Source) -> str | None:
    """What a file calls torch; `None` where it does not import it."""
    return next((name for name, module in imported(source).items() if module == "torch"), None)


def is_imported(source: Source, node: ast.expr) -> bool:
    """Whether `torch`, `F` or `torch.linalg` is meant: a name that the file has imported, or an attribute of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in imported(source)


# ---- calls


def name_of(node: ast.AST) -> str:
    """Name of the function or method that is called; "" for what is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Calls by one of these names, anywhere in `tree`."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_of(node) in names)


def subject(source: Source, call: ast.expr) -> ast.expr | None:
    """What a function of one tensor is applied to: `x` of `torch.log(x)` and of `x.log()`; `None` for what is no call."""
    if not isinstance(call, ast.Call):
        return None
    if isinstance(call.func, ast.Attribute) and not is_imported(source, call.func.value):
        return call.func.value
    return call.args[0] if call.args else None


def with_keyword(source: Source, call: ast.Call, name: str, value: str) -> Edit:
    """A call with one keyword argument set."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return source.replace(keyword.value, value)
    end = source.span(call)[1] - 1
    comma = "" if source.text[:end].rstrip().endswith(("(", ",")) else ", "
    return Edit(end, end, f"{comma}{name}={value}")


# ---- values


def assigned(scope: ast.AST, name: str) -> list[ast.expr]:
    """Everything that is assigned to a name, anywhere in `scope`."""
    given = (node for node in ast.walk(scope) if isinstance(node, ast.Assign))
    return [n.value for n in given if any(isinstance(t, ast.Name) and t.id == name for t in n.targets)]


def constant(source: Source, node: ast.expr) -> float | None:
    """The number that an expression is, or that the name in it was given once."""
    if isinstance(node, ast.Name):
        given = assigned(source.tree, node.id)
        return constant(source, given[0]) if len(given) == 1 and not isinstance(given[0], ast.Name) else None
    if isinstance(node, ast.BinOp):
        left, right = constant(source, node.left), constant(source, node.right)
        return None if left is None or right is None else _arithmetic(node.op, left, right)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return float(value) if isinstance(value, (int, float)) else None


def _arithmetic(op: ast.operator, left: float, right: float) -> float | None:
    try:
        if isinstance(op, ast.Pow):
            power = left**right
            return power if isinstance(power, float) else None
        return left * right if isinstance(op, ast.Mult) else left / right if isinstance(op, ast.Div) else None
    except (ZeroDivisionError, OverflowError):
        return None


# ---- the training loop


def steps(source: Source) -> Iterator[tuple[ast.Expr, str]]:
    """Statements `opt.step()`, and the text of `opt`; those of schedulers are not among them."""
    stepped = list(_stepped(source))
    of = {name: _made(source, name) for _, name in stepped}
    for statement, name in stepped:
        made = of[name]
        # A scheduler is made from an optimizer.
        if made is None or not any(ast.unparse(arg) in of for arg in made.args[:1]):
            yield statement, name


def optimizers(source: Source) -> dict[str, ast.Call]:
    """Optimizers by the text that names them, each with the call that makes it, where the file has it."""
    found = {name: _made(source, name) for _, name in steps(source)}
    return {name: call for name, call in found.items() if call is not None}


def backwards(source: Source) -> list[ast.stmt]:
    """Statements that do nothing but call `backward`, and have a line for themselves."""
    found = (n for n in ast.walk(source.tree) if isinstance(n, ast.Expr) and name_of(n.value) == "backward")
    return [statement for statement in found if source.alone(statement)]


def _stepped(source: Source) -> Iterator[tuple[ast.Expr, str]]:
    for node in ast.walk(source.tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.Expr) and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr == "step" and not call.args:
                yield node, source.segment(call.func.value)


def _made(source: Source, name: str) -> ast.Call | None:
    """The only call whose result has this name."""
    given = (node for node in ast.walk(source.tree) if isinstance(node, ast.Assign))
    found = [n.value for n in given if isinstance(n.value, ast.Call) and any(ast.unparse(t) == name for t in n.targets)]
    return found[0] if len(found) == 1 else None
