"""A formula spelled out by hand gives way to the function that torch has for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect, imported
from nanscope.fixes.source import Source

CAUSES = (
    "log-of-zero",
    "exp-overflow",
    "underflow",
    "epsilon-lost",
    "negative-argument",
    "singular-matrix",
    "infinite-derivative",
)


@family(20)
def stable(site: Site) -> Iterator[Candidate]:
    """`x.softmax(-1).log()` becomes `x.log_softmax(-1)`, `log(1 + exp(x))` becomes `softplus(x)`, and so on."""
    for suspect in site.suspects:
        torch = next((name for name, module in imported(suspect.source).items() if module == "torch"), None)
        outer = enclosing_log(suspect)
        if torch is None or outer is None:
            continue
        form = Form(suspect.source, torch)
        found = form.log(outer[1])
        if found is not None:
            name, text = found
            yield candidate(
                "stable-form", CAUSES, Safety.CHANGES_TRAINING,
                f"use {name}, which stays in range where the spelled-out form does not",
                f"풀어 쓴 식 대신 범위를 벗어나지 않는 {name} 함수를 씁니다",
                (suspect.source, suspect.source.replace(outer[0], text)),
            )  # fmt: skip


def enclosing_log(suspect: Suspect) -> tuple[ast.expr, ast.expr] | None:
    """The log that the suspect is, or lies in: the call, and its argument."""
    node: ast.AST | None = suspect.node
    while isinstance(node, ast.expr):
        if isinstance(node, ast.Call) and name_of(node) == "log":
            argument = subject(node, suspect.source)
            return None if argument is None else (node, argument)
        node = suspect.source.parents.get(node)
    return None


def name_of(node: ast.expr) -> str:
    """Name of the function or method that is called."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def subject(call: ast.Call, source: Source) -> ast.expr | None:
    """What a function of one tensor is applied to: `x` of `torch.log(x)` and of `x.log()`."""
    if isinstance(call.func, ast.Attribute):
        root: ast.expr = call.func.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not (isinstance(root, ast.Name) and root.id in imported(source)):
            return call.func.value
    return call.args[0] if call.args else None


class Form:
    """Recognises formulas in one file; `torch` is its name for torch."""

    def __init__(self, source: Source, torch: str) -> None:
        self._source = source
        self._torch = torch

    def log(self, argument: ast.expr) -> tuple[str, str] | None:
        """The function for the log of `argument`, and the call of it."""
        value = self._value(argument)
        functional = f"{self._torch}.nn.functional"
        text = self._source.segment
        if isinstance(value, ast.Call):
            inner, name = subject(value, self._source), name_of(value)
            if inner is None:
                return None
            if name == "softmax":
                rest = self._rest(value)
                return ("log_softmax", f"{functional}.log_softmax({text(inner)}{rest})") if rest else None
            if name == "sigmoid":
                return "logsigmoid", f"{functional}.logsigmoid({text(inner)})"
            if (
                name == "sum"
                and name_of(inner) == "exp"
                and (exponent := subject(self._call(inner), self._source)) is not None
            ):
                rest = self._rest(value)
                return ("logsumexp", f"{self._torch}.logsumexp({text(exponent)}{rest})") if rest else None
            if (
                name == "abs"
                and name_of(inner) == "det"
                and (matrix := subject(self._call(inner), self._source)) is not None
            ):
                return "slogdet", f"{self._torch}.linalg.slogdet({text(matrix)}).logabsdet"
        if isinstance(value, ast.BinOp) and _is_one(value.left):
            other = self._value(value.right)
            if (
                isinstance(value.op, ast.Add)
                and name_of(other) == "exp"
                and (x := subject(self._call(other), self._source)) is not None
            ):
                return "softplus", f"{functional}.softplus({text(x)})"
            if (
                isinstance(value.op, ast.Sub)
                and name_of(other) == "sigmoid"
                and (x := subject(self._call(other), self._source)) is not None
            ):
                return "logsigmoid", f"{functional}.logsigmoid(-({text(x)}))"
        return None

    @staticmethod
    def _call(node: ast.expr) -> ast.Call:
        assert isinstance(node, ast.Call)
        return node

    def _rest(self, call: ast.Call) -> str:
        """The arguments of a reduction but for its tensor, with a comma before each."""
        args = call.args[1:] if call.args and subject(call, self._source) is call.args[0] else call.args
        parts = [self._source.segment(a) for a in args] + [
            f"{k.arg}={self._source.segment(k.value)}" for k in call.keywords
        ]
        return "".join(f", {part}" for part in parts)

    def _value(self, node: ast.expr) -> ast.expr:
        """The expression that a name stands for, where its function gives it exactly one value."""
        if not isinstance(node, ast.Name):
            return node
        scope = self._source.above(node, ast.FunctionDef, ast.AsyncFunctionDef) or self._source.tree
        given = [
            n.value for n in ast.walk(scope)
            if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)
        ]  # fmt: skip
        return given[0] if len(given) == 1 else node


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1
