"""A source file that can be edited by its syntax tree: what no edit touches keeps every byte."""

from __future__ import annotations

import ast
import difflib
import functools
import io
import os
import re
import tokenize
import zlib
from dataclasses import dataclass
from typing import Any

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FEED = re.compile(r"[^\n]*\n|[^\n]+")
_NOT_ATOMS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.Await, ast.NamedExpr, ast.Starred,
)  # fmt: skip


class Unreadable(Exception):
    """The source cannot be edited; the text says why."""


@dataclass(frozen=True)
class Edit:
    """Text that takes the place of `[start, end)`, in characters."""

    start: int
    end: int
    text: str


class Source:
    """One file, as it was read: `text`, its syntax `tree`, `checksum` and `size` of its bytes."""

    def __init__(self, path: str, file: str, data: bytes) -> None:
        self.path = path  # absolute
        self.foreign = False  # whether it belongs to an installed package
        self.file = file  # as the report names it
        self.checksum, self.size = zlib.crc32(data), len(data)
        try:
            encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
            if encoding not in ("utf-8", "utf-8-sig"):
                raise Unreadable(f"{file} is in {encoding}; only files in UTF-8 are edited")
            self.bom = "\ufeff" if encoding == "utf-8-sig" else ""
            self.text = data.decode(encoding)
            self.tree = ast.parse(self.text, path)
        except (SyntaxError, UnicodeDecodeError, LookupError, ValueError, RecursionError) as error:
            raise Unreadable(f"{file} cannot be read as Python source: {error}") from None
        self.lines = _LINE.findall(self.text)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))
        self.newline = next(
            (line[len(line.rstrip("\r\n")) :] for line in self.lines if line.rstrip("\r\n") != line), "\n"
        )

    def changed_after(self, nanos: int) -> bool:
        """Whether the file is younger than `nanos` since the epoch, or gone."""
        try:
            return os.stat(self.path).st_mtime_ns > nanos
        except OSError:
            return True

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node that each node is a child of."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    # ---- from places to nodes

    def span(self, node: Any) -> tuple[int, int]:
        """First and one-past-last character of a node."""
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column_bytes: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if not text.isascii():
            column_bytes = len(text.encode()[:column_bytes].decode(errors="ignore"))
        return self._starts[line - 1] + column_bytes

    def segment(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def operand(self, node: ast.expr) -> str:
        """The text of a node, in parentheses where something that binds closer may follow."""
        text = self.segment(node)
        return f"({text})" if isinstance(node, _NOT_ATOMS) else text

    def method(self, node: ast.expr, call: str) -> Edit:
        """A node with a method called on it, as `x.clamp(min=1)`; parentheses that are there already serve."""
        start, end = self.span(node)
        number = isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        if not (isinstance(node, _NOT_ATOMS) or number):
            return Edit(start, end, f"{self.text[start:end]}.{call}")
        if self._enclosed(node):
            return Edit(end + 1, end + 1, f".{call}")
        return Edit(start, end, f"({self.text[start:end]}).{call}")

    def grouped(self, node: ast.expr, text: str) -> Edit:
        """`text` in parentheses instead of a node; those that are there already serve."""
        return self.replace(node, text if self._enclosed(node) else f"({text})")

    def _enclosed(self, node: ast.expr) -> bool:
        """Whether a node stands in parentheses of its own: those of a call are not those of its argument."""
        start, end = self.span(node)
        own = not isinstance(self.parents.get(node), (ast.Call, ast.keyword))
        return own and self.text[:start].endswith("(") and self.text[end:].startswith(")")

    def at(self, place: dict[str, Any]) -> list[ast.expr | ast.stmt]:
        """Nodes that a place means: the one with its columns, or all expressions of its statement, innermost first."""
        statement = self.statement(place["line"])
        if statement is None:
            return []
        inside = [node for node in _expressions(statement) if isinstance(node, ast.expr)]
        if "columns" in place:
            line, (first, last) = place["line"], place["columns"]
            wanted = (self._starts[line - 1] + first, self._starts[line - 1] + last)
            exact: list[ast.expr | ast.stmt] = [node for node in inside if self.span(node) == wanted]
            if exact:
                return exact
            if self.span(statement) == wanted:
                return [statement]
        spans = {node: self.span(node) for node in inside}
        on_line = [n for n in inside if n.lineno <= place["line"] <= (n.end_lineno or n.lineno)]
        return [*sorted(on_line or inside, key=lambda n: spans[n][1] - spans[n][0])]

    def statement(self, line: int) -> ast.stmt | None:
        """The innermost statement that holds a line; of a compound statement, only its header."""
        best: ast.stmt | None = None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                if best is None or node.lineno >= best.lineno:
                    best = node
        return best

    def above(self, node: ast.AST, *kinds: type[ast.AST]) -> Any:
        """The nearest node of one of these kinds that `node` is part of."""
        up = self.parents.get(node)
        while up is not None and not isinstance(up, kinds):
            up = self.parents.get(up)
        return up

    # ---- edits

    def replace(self, node: ast.AST, text: str) -> Edit:
        """`text` instead of a node."""
        start, end = self.span(node)
        return Edit(start, end, text)

    def before(self, statement: ast.stmt, *lines: str) -> Edit:
        """Lines before a statement, in its indentation. Raises `Unreadable` where it shares its line."""
        start = self.span(statement)[0]
        indent = self.indent(statement)
        return Edit(start, start, "".join(f"{line}{self.newline}{indent}" for line in lines))

    def after(self, statement: ast.stmt, line: str) -> Edit:
        """A line after a simple statement; where that shares its line, on the same one."""
        end = self.span(statement)[1]
        if not self.alone(statement):
            return Edit(end, end, f"; {line}")
        end = self._starts[statement.end_lineno or statement.lineno]
        if not self.text[:end].endswith(("\n", "\r")):
            return Edit(end, end, f"{self.newline}{self.indent(statement)}{line}")
        return Edit(end, end, f"{self.indent(statement)}{line}{self.newline}")

    def nested(self, statement: ast.stmt, header: str) -> list[Edit]:
        """A statement below a header of its own, as `if ...:`. Raises `Unreadable` where it shares its line."""
        start, _ = self.span(statement)
        indent, step, inside = self.indent(statement), self.step(), self._inside_strings(statement)
        edits = [Edit(start, start, f"{header}{self.newline}{indent}{step}")]
        for line in range(statement.lineno + 1, (statement.end_lineno or statement.lineno) + 1):
            if line not in inside and self.lines[line - 1].strip():
                edits.append(Edit(self._starts[line - 1], self._starts[line - 1], step))
        return edits

    def indent(self, statement: ast.stmt) -> str:
        """The white space before a statement. Raises `Unreadable` where something else is there."""
        line = self.lines[statement.lineno - 1]
        before = line[: self.span(statement)[0] - self._starts[statement.lineno - 1]]
        if before.strip():
            raise Unreadable(f"{self.file}:{statement.lineno} holds more than one statement")
        return before

    def alone(self, statement: ast.stmt) -> bool:
        """Whether a simple statement has its line for itself, so that lines may be put around it."""
        start, end = self.span(statement)
        first, last = self._starts[statement.lineno - 1], self._starts[statement.end_lineno or statement.lineno]
        rest = self.text[end:last].strip()
        simple = not hasattr(statement, "body")
        return simple and not self.text[first:start].strip() and (not rest or rest.startswith("#"))

    def step(self) -> str:
        """One more level of indentation, as the file has it."""
        for node in ast.walk(self.tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(node, ast.stmt) and body[0].lineno > node.lineno:
                outer, inner = self.lines[node.lineno - 1], self.lines[body[0].lineno - 1]
                outer, inner = outer[: len(outer) - len(outer.lstrip())], inner[: len(inner) - len(inner.lstrip())]
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer) :]
        return "    "

    def _inside_strings(self, statement: ast.stmt) -> set[int]:
        """Lines that begin inside a string: white space there is not indentation."""
        found: set[int] = set()
        for node in ast.walk(statement):
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and (node.end_lineno or 0) > node.lineno:
                found.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
        return found

    def edited(self, edits: list[Edit]) -> str:
        """The text with the edits made. Raises `Unreadable` when two touch the same text or the result does not parse."""
        text, last = self.text, len(self.text) + 1
        for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
            if edit.end > last:
                raise Unreadable(f"{self.file}: two edits of the same place")
            text, last = text[: edit.start] + edit.text + text[edit.end :], edit.start
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise Unreadable(f"{self.file}: the edit does not parse: {error}") from None
        return text

    def diff(self, text: str) -> str:
        """Unified diff from the file to `text`, as `patch` reads it; a carriage return belongs to its line."""
        before, after = _FEED.findall(self.bom + self.text), _FEED.findall(text)
        lines = difflib.unified_diff(before, after, f"a/{self.file}", f"b/{self.file}", n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _expressions(statement: ast.stmt) -> list[ast.AST]:
    """All nodes of a statement but those of statements in its body."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        found.append(node)
        todo += [child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, ast.ExceptHandler))]
    return found


def read(file: str, base: str, put: dict[str, str] | None = None) -> Source:
    """The source of a file that a report names, or of the text that stands for it. Raises `Unreadable`."""
    path = os.path.realpath(os.path.join(base, file))
    if put and path in put:
        return Source(path, file, put[path].encode("utf-8", "surrogateescape"))
    try:
        with open(path, "rb") as handle:
            return Source(path, file, handle.read())
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from None
