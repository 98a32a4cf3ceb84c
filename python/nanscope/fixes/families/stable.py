"""A formula spelled out by hand gives way to the function that torch has for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect
from nanscope.fixes.source import Source
from nanscope.fixes.syntax import assigned, name_of, subject, torch_in

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
        torch = torch_in(suspect.source)
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
            argument = subject(suspect.source, node)
            return None if argument is None else (node, argument)
        node = suspect.source.parents.get(node)
    return None


class Form:
    """Recognises formulas in one file; `torch` is its name for torch."""

    def __init__(self, source: Source, torch: str) -> None:
        self._source = source
        self._torch = torch

    def log(self, argument: ast.expr) -> tuple[str, str] | None:
        """The function for the log of `argument`, and the call of it."""
        value, functional, text = self._value(argument), f"{self._torch}.nn.functional", self._source.segment
        name = name_of(value)
        inner = subject(self._source, value)
        if isinstance(value, ast.Call) and inner is not None:
            rest, below = self._rest(value), subject(self._source, inner)
            if name == "softmax" and rest:
                return "log_softmax", f"{functional}.log_softmax({text(inner)}{rest})"
            if name == "sigmoid":
                return "logsigmoid", f"{functional}.logsigmoid({text(inner)})"
            if name == "sum" and rest and name_of(inner) == "exp" and below is not None:
                return "logsumexp", f"{self._torch}.logsumexp({text(below)}{rest})"
            if name == "abs" and name_of(inner) == "det" and below is not None:
                return "slogdet", f"{self._torch}.linalg.slogdet({text(below)}).logabsdet"
        if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Constant) and value.left.value == 1:
            other = self._value(value.right)
            x = subject(self._source, other)
            if isinstance(value.op, ast.Add) and name_of(other) == "exp" and x is not None:
                return "softplus", f"{functional}.softplus({text(x)})"
            if isinstance(value.op, ast.Sub) and name_of(other) == "sigmoid" and x is not None:
                return "logsigmoid", f"{functional}.logsigmoid(-({text(x)}))"
        return None

    def _rest(self, call: ast.Call) -> str:
        """The arguments of a reduction but for its tensor, with a comma before each."""
        args = call.args[1:] if call.args and subject(self._source, call) is call.args[0] else call.args
        parts = [self._source.segment(a) for a in args] + [
            f"{k.arg}={self._source.segment(k.value)}" for k in call.keywords
        ]
        return "".join(f", {part}" for part in parts)

    def _value(self, node: ast.expr) -> ast.expr:
        """The expression that a name stands for, where its function gives it exactly one value."""
        if not isinstance(node, ast.Name):
            return node
        scope = self._source.above(node, ast.FunctionDef, ast.AsyncFunctionDef) or self._source.tree
        given = assigned(scope, node.id)
        return given[0] if len(given) == 1 else node
