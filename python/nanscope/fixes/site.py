"""Where a fix may be made: the operator of the origin, those that fed it, and the expressions of the program they came from."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nanscope.fixes.source import Source, Unreadable, read
from nanscope.fixes.syntax import is_imported, name_of

OUTSIDE = ("data", "buffer", "state", "param")
BAD_SOURCES_MAX = 4  # operators looked at: the origin, and those that its bad inputs came from
NARROW = {"float16": 65504.0, "bfloat16": 3.38e38, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


@dataclass
class Suspect:
    """An operator of the ledger and the node of the syntax tree that ran it. `backward` is the backward operator that gave birth
    to a bad value, where it was not `entry` itself but the derivative of it."""

    source: Source
    node: ast.expr | ast.stmt
    entry: dict[str, Any]
    backward: dict[str, Any] | None = None

    @property
    def op(self) -> str:
        """Name of the operator without namespace and overload, as `div`."""
        name: str = self.entry["op"].split(".")[1]
        return name.strip("_")

    @property
    def dtype(self) -> str | None:
        """Type of what it wrote, as `float16`."""
        return next((arg["dtype"] for arg in self.entry["outputs"]), None)

    def argument(self, name: str) -> dict[str, Any] | None:
        """The tensor that the operator read under this name."""
        return next((arg for arg in self.entry["inputs"] if arg["name"] == name), None)

    # ---- the syntax tree

    @functools.cached_property
    def operands(self) -> list[ast.expr]:
        """What the expression works on: both sides, or receiver and arguments, in the order of the operator's schema."""
        node = self.node
        if isinstance(node, ast.BinOp):
            return [node.left, node.right]
        if isinstance(node, ast.AugAssign):
            return [node.target, node.value]
        if isinstance(node, ast.UnaryOp):
            return [node.operand]
        if isinstance(node, ast.Call):
            receiver = self.receiver()
            return ([receiver] if receiver is not None else []) + [
                a for a in node.args if not isinstance(a, ast.Starred)
            ]
        return []

    def receiver(self) -> ast.expr | None:
        """`x` of `x.log()`; `None` where a function of a module, or a module, is called."""
        node = self.node
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        if self.called(self.op) and not is_imported(self.source, node.func.value):
            return node.func.value
        return None

    def called(self, *names: str) -> bool:
        """Whether the expression is a call by one of these names, in place or not."""
        return name_of(self.node).strip("_") in names if isinstance(self.node, ast.Call) else False

    def keyword(self, name: str) -> ast.expr | None:
        """The value of a keyword argument of the call."""
        if not isinstance(self.node, ast.Call):
            return None
        return next((k.value for k in self.node.keywords if k.arg == name), None)


def operands_of(suspect: Suspect) -> list[tuple[dict[str, Any], ast.expr]]:
    """Tensors that the operator read, each with its expression: by position in its schema; where a module is called, what is no
    parameter by its position among the arguments."""
    node = suspect.node
    if isinstance(node, ast.Call) and suspect.receiver() is None and not suspect.called(suspect.op):
        given = [
            arg for arg in suspect.entry["inputs"] if (arg.get("source") or {}).get("kind") not in ("param", "buffer")
        ]
        return list(zip(given, (a for a in node.args if not isinstance(a, ast.Starred)), strict=False))
    return list(zip(suspect.entry["inputs"], suspect.operands, strict=False))


class Site:
    """One diagnosed trip. `report` and `ledger` as plain data, `base` what their paths are relative to; `foreign` are folders
    whose files are not the user's, `put` the texts (by absolute path) that were run instead of files. A file that was changed after
    `since` (nanoseconds since the epoch) is not the one that was run."""

    def __init__(
        self,
        report: dict[str, Any],
        ledger: dict[str, Any],
        base: str,
        foreign: tuple[str, ...] = (),
        put: dict[str, str] | None = None,
        since: int | None = None,
    ) -> None:
        self.report = report
        self.ledger = ledger
        self.base = base
        self.foreign = foreign
        self.put = put or {}
        self.since = since
        self._sources: dict[str, Source] = {}
        self.origin: dict[str, Any] = report.get("origin") or {}
        self.causes: list[str] = [cause["id"] for cause in report.get("causes", [])]
        self.phase: str | None = self.origin.get("phase")
        self.facts: dict[str, Any] = ledger.get("facts", {})

    @property
    def cause(self) -> str | None:
        """The first cause."""
        return self.causes[0] if self.causes else None

    @functools.cached_property
    def entry(self) -> dict[str, Any] | None:
        """The operator of the origin."""
        index = self.origin.get("entry")
        return None if index is None else self.ledger["entries"][index]

    def source(self, file: str) -> Source:
        """The source of a file of the program. Raises `Unreadable`."""
        if file not in self._sources:
            found = read(file, self.base, self.put)
            found.foreign = found.path.startswith(self.foreign)
            if self.since is not None and found.path not in self.put and found.changed_after(self.since):
                raise Unreadable(f"{file} was changed while the program ran")
            self._sources[file] = found
        return self._sources[file]

    def is_foreign(self, file: str) -> bool:
        """Whether a file belongs to an installed package."""
        return os.path.realpath(os.path.join(self.base, file)).startswith(self.foreign)

    @functools.cached_property
    def main(self) -> Source | None:
        """The file of the origin; that of the step where no line is to blame; else the program itself."""
        for place in (self.origin, (self.report.get("trip") or {}).get("place")):
            if place and place.get("file"):
                with contextlib.suppress(Unreadable):
                    found = self.source(place["file"])
                    if not found.foreign:
                        return found
        return self.program

    @functools.cached_property
    def program(self) -> Source | None:
        """The script that was run; `None` for a module that is run by name, and where it cannot be read."""
        with contextlib.suppress(Unreadable):
            return self.source(self.report["run"]["script"])
        return None

    def readers(self, name: str | None) -> Iterator[tuple[Suspect, ast.expr]]:
        """The first expression that read the input of this name, and what it is there."""
        for entry in self.ledger["entries"] if name else ():
            if entry.get("forward") is None and any(
                (arg.get("source") or {}).get("name") == name for arg in entry["inputs"]
            ):
                for suspect in self._nodes(entry, None):
                    for arg, node in operands_of(suspect):
                        if (arg.get("source") or {}).get("name") == name:
                            yield suspect, node
                return

    # ---- suspects

    @functools.cached_property
    def suspects(self) -> list[Suspect]:
        """The operator of the origin, then those that its bad or infinite inputs came from, each at its expressions."""
        return list(self._suspects())

    def _suspects(self) -> Iterator[Suspect]:
        if self.entry is None:
            return
        entries = self.ledger["entries"]
        todo, seen = [(self.entry, None)], set()
        count = 0
        while todo and count < BAD_SOURCES_MAX:
            entry, behind = todo.pop(0)
            if entry["index"] in seen:
                continue
            seen.add(entry["index"])
            forward = entry.get("forward")
            place = entry.get("place")
            if forward is not None and place == entries[forward].get("place"):
                yield from self._nodes(
                    entries[forward], entry
                )  # a derivative: what can be changed is what it is one of
            else:
                yield from self._nodes(entry, behind)
            count += 1
            for arg in entry["inputs"]:
                counts = arg.get("counts") or {}
                if arg.get("from") is not None and any(counts.get(k) for k in ("nan", "posinf", "neginf")):
                    todo.append((entries[arg["from"]], None))

    def _nodes(self, entry: dict[str, Any], backward: dict[str, Any] | None) -> Iterator[Suspect]:
        place = entry.get("place")
        if place is None:
            return
        try:
            source = self.source(place["file"])
        except Unreadable:
            return
        for node in source.at(place):
            yield Suspect(source, node, entry, backward)

    def named(self, *ops: str) -> Iterator[Suspect]:
        """Suspects whose operator has one of these names and whose expression is one that can have run it."""
        for suspect in self.suspects:
            if suspect.op in ops and suspect.operands:
                yield suspect
