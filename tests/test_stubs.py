"""The stub of the extension says what the binary has: names, parameters, properties. `make stubs` writes it."""

import ast
import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanscope import _core

STUB = Path(_core.__file__).with_name("_core.pyi")
TREE = ast.parse(STUB.read_text())
FUNCTIONS = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
CLASSES = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}
NAMES = {
    *FUNCTIONS,
    *CLASSES,
    *(n.target.id for n in TREE.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)),
}
METHODS = [
    (c.name, m) for c in CLASSES.values() for m in c.body if isinstance(m, ast.FunctionDef) and not m.decorator_list
]

Parameter = tuple[str, bool]


def stubbed(function: ast.FunctionDef) -> list[Parameter]:
    """Parameters but `self` and `cls`, and whether each may be left out."""
    arguments = function.args
    assert not arguments.vararg and not arguments.kwarg and not arguments.kwonlyargs
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    every = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    return [(name, i >= required) for i, name in enumerate(every) if name not in ("self", "cls")]


def built(function: Callable[..., Any]) -> list[Parameter]:
    """The same, from the binary."""
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.default is not p.empty) for p in parameters if p.name != "self"]


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_names() -> None:
    exported = next(n.value for n in TREE.body if isinstance(n, ast.Assign))
    assert set(ast.literal_eval(exported)) == NAMES == {*public(dir(_core)), "__version__"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    assert stubbed(FUNCTIONS[name]) == built(getattr(_core, name))


@pytest.mark.parametrize("name", CLASSES)
def test_class(name: str) -> None:
    cls = getattr(_core, name)
    properties = {m.name for m in CLASSES[name].body if isinstance(m, ast.FunctionDef) and m.decorator_list}
    methods = {m.name for c, m in METHODS if c == name}
    assert public(dir(cls)) == properties | public(list(methods))
    assert all(isinstance(getattr(cls, p), types.GetSetDescriptorType | types.MemberDescriptorType) for p in properties)
    assert ("__new__" in methods) == ("__new__" in vars(cls)), "an object that Python cannot make has no __new__"


# A slot of the type: the binary tells no more than that it can be called.
SLOTS = {"__call__"}


@pytest.mark.parametrize(
    ("name", "method"),
    [(c, m) for c, m in METHODS if m.name not in SLOTS],
    ids=lambda x: x if isinstance(x, str) else x.name,
)
def test_method(name: str, method: ast.FunctionDef) -> None:
    cls = getattr(_core, name)
    assert stubbed(method) == built(cls if method.name == "__new__" else getattr(cls, method.name))
