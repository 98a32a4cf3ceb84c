"""An edit of an installed package, made from the program instead: the package's file is never changed."""

from __future__ import annotations

import ast
import os
import sys
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from nanscope.fixes.source import Edit, Source, Unreadable
from nanscope.outcomes import text

if TYPE_CHECKING:
    from nanscope.fixes.fix import Candidate


def from_program(one: Candidate, main: Source) -> Candidate:
    """`one`, whose edits are of one function of a package, as lines of `main` that give this function its new code. Raises
    `Unreadable` where that cannot be done."""
    sources = {source.path: source for source, _ in one.edits}
    if len(sources) != 1:
        raise Unreadable("an edit of several files of installed packages")
    (source,) = sources.values()
    module = module_of(source.path)
    names, code = function(source, [edit for _, edit in one.edits])
    where = f"{module}.{'.'.join(names)}"
    quoted = code.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = [
        f"import {module} as _fixed_in",
        f'exec("""{quoted}""", _fixed := dict(vars(_fixed_in)))',
        f'_fixed_in.{".".join(names)}.__code__ = _fixed["{names[-1]}"].__code__',
    ]
    start = after_imports(main)
    added = Edit(start, start, "\n".join([*lines, ""]).replace("\n", main.newline))
    said = text(f"{one.summary['en']} (in {where}, from your program)", f"{one.summary['ko']} ({where}, 프로그램에서)")
    return replace(one, summary=said, edits=((main, added),))


def module_of(path: str) -> str:
    """Name under which a file is imported."""
    for folder in sorted((os.path.realpath(p) for p in sys.path if p), key=len, reverse=True):
        if path.startswith(folder + os.sep):
            name = os.path.relpath(path, folder).removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
            if all(part.isidentifier() for part in name.split(".")):
                return name
    raise Unreadable(f"{path} cannot be imported by name")


def function(source: Source, edits: list[Edit]) -> tuple[list[str], str]:
    """The function that holds all edits: its name as attributes of the module, and its new text. Raises `Unreadable` for code
    outside a function, or in one that is made by another."""
    holders: list[tuple[list[str], ast.FunctionDef | ast.AsyncFunctionDef]] = []

    def visit(body: list[ast.stmt], names: list[str]) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, [*names, node.name])
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                start, end = source.span(node)
                if all(start <= edit.start and edit.end <= end for edit in edits):
                    holders.append(([*names, node.name], node))

    visit(source.tree.body, [])
    if len(holders) != 1:
        raise Unreadable(f"{source.file}: the edit is not within one function")
    names, node = holders[0]
    private = any(
        isinstance(n, ast.Attribute) and n.attr.startswith("__") and not n.attr.endswith("__") for n in ast.walk(node)
    )
    if node.decorator_list or private or "super()" in source.segment(node) or "\t" in source.segment(node):
        raise Unreadable(f"{source.file}: {names[-1]} cannot be written anew outside its class")
    start, end = source.span(node)
    grown = len(source.edited(edits)) - len(source.text)
    new = source.edited(edits)[start : end + grown]
    indent = " " * node.col_offset
    return names, textwrap.dedent(indent + new) + "\n"


def after_imports(main: Source) -> int:
    """Where a line after the imports begins: those before the first loop, branch or block at the top level."""
    last = None
    for node in main.tree.body:
        if isinstance(node, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
            break
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            last = node
    if last is None:
        raise Unreadable(f"{main.file} imports nothing at its top level")
    line = main.lines[(last.end_lineno or last.lineno) - 1]
    rest = line.encode()[last.end_col_offset :].decode().strip()
    if rest and not rest.startswith("#"):
        raise Unreadable(f"{main.file}:{last.lineno} holds more than one statement")
    return sum(len(line) for line in main.lines[: last.end_lineno])
