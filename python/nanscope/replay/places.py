"""From a code object and an instruction to a place in the user's source: file, line, columns, statement."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import os
from types import CodeType
from typing import Any

CODE_MAX = 400  # characters of a source line that are kept


@functools.cache
def place(code: CodeType, lasti: int, line: int, base: str) -> dict[str, Any]:
    """A `Place` of the ledger as plain data; paths are relative to `base` where they lie below it."""
    file = code.co_filename
    found: dict[str, Any] = {"file": relative(file, base), "line": line, "function": code.co_qualname}
    text = linecache.getline(file, line).rstrip("\r\n")
    if text:
        found["code"] = text[:CODE_MAX]
    span = next(itertools.islice(code.co_positions(), lasti // 2, None), None) if lasti >= 0 else None
    if span and span[0] == line and span[1] == line and span[2] is not None and span[3] is not None and text:
        raw = text.encode()
        start, end = len(raw[: span[2]].decode(errors="ignore")), len(raw[: span[3]].decode(errors="ignore"))
        if start < end <= CODE_MAX:
            found["columns"] = [start, end]
    lines = statement(file, line)
    if lines is not None:
        found["lines"] = list(lines)
    return found


def relative(file: str, base: str) -> str:
    """`file` relative to `base` where it lies below it."""
    path = file if os.path.isabs(file) else os.path.join(base, file)
    start = base.rstrip(os.sep) + os.sep
    return path.removeprefix(start)


def statement(file: str, line: int) -> tuple[int, int] | None:
    """First and last line of the innermost statement that holds `line`; of a compound statement, its header."""
    best = None
    for first, last in _statements(file):
        if first <= line <= last and (best is None or last - first <= best[1] - best[0]):
            best = (first, last)
    return best


@functools.cache
def _statements(file: str) -> list[tuple[int, int]]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):  # a generated file, or none at all
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            last = node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            if isinstance(body, list) and body:
                last = max(node.lineno, body[0].lineno - 1)
            found.append((node.lineno, last))
    return found
