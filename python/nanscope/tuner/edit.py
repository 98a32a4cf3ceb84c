"""The edit of the program that checkpoints the chosen blocks and no others."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import Any

from nanscope.fixes.families.checkpoint import OPTIONS
from nanscope.fixes.foreign import after_imports
from nanscope.fixes.prove import foreign
from nanscope.fixes.source import Edit, Source, Unreadable, read
from nanscope.fixes.syntax import imported, name_of
from nanscope.tuner.sites import CHECKPOINTED, DIRECT, HIDDEN, SEQUENTIAL, Site

CHECKPOINT = "torch.utils.checkpoint.checkpoint"


@dataclass(frozen=True)
class Group:
    """Blocks that one call of the program leads to. `chosen[i]` says whether the block that the loop meets as the i-th is to be
    checkpointed; there are as many as the loop has turns."""

    site: Site
    chosen: list[bool]
    container: list[bool]  # the same by position in the container, children that are no blocks among them


def edited(
    blocks: list[Any], sites: list[list[Site]], chosen: set[int], roots: list[Any], base: str
) -> dict[str, tuple[Source, str]]:
    """Texts of the files that change, by path. `chosen` are indices of `blocks`. Raises `Unreadable` where the program cannot be
    edited, with the reason."""
    files: dict[str, tuple[Source, list[Edit]]] = {}
    for group in groups(blocks, sites, chosen, roots):
        file = group.site.place["file"]
        source = read(file, base)
        if source.path.startswith(foreign()):
            raise Unreadable(f"{file} calls the blocks, and belongs to an installed package")
        source, edits = files.setdefault(source.path, (source, []))
        edits += Call(source, group).edits()
    out: dict[str, tuple[Source, str]] = {}
    for path, (source, edits) in files.items():
        if edits:
            text = source.edited(edits)
            if "checkpoint(" in text and checkpoint_name(source)[1]:
                start = after_imports(source)
                edits.append(
                    Edit(start, start, f"from torch.utils.checkpoint import checkpoint{_as(source)}{source.newline}")
                )
            out[path] = (source, source.bom + source.edited(edits))
    return out


def groups(blocks: list[Any], sites: list[list[Site]], chosen: set[int], roots: list[Any]) -> list[Group]:
    """The calls to edit."""
    by: dict[tuple[Any, ...], tuple[Site, list[int]]] = {}
    for at, found in enumerate(sites):
        if not found:
            raise Unreadable("a block is called from no line of the program")
        for site in found:
            if site.how == HIDDEN:
                where = f"{site.place['file']}:{site.place['line']}"
                raise Unreadable(f"{where} leads to the blocks through a module of torch that calls them itself")
            by.setdefault(site.key, (site, []))[1].append(at)
    parents = {id(child): module for root in roots for module in root.modules() for child in module.children()}
    out = []
    for site, members in by.values():
        wanted = {id(blocks[at]) for at in members if at in chosen}
        containers = {id(parents[id(blocks[at])]): parents[id(blocks[at])] for at in members}
        children = (
            [c for container in containers.values() for c in container.children()] if len(containers) == 1 else []
        )
        out.append(Group(site, [at in chosen for at in members], [id(child) in wanted for child in children]))
    return out


def checkpoint_name(source: Source) -> tuple[str, bool]:
    """What the file calls torch's checkpoint, and whether it must be imported first."""
    for name, meaning in imported(source).items():
        if meaning == CHECKPOINT:
            return name, False
    taken = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)} | set(imported(source))
    taken |= {n.name for n in ast.walk(source.tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    return ("torch_checkpoint" if "checkpoint" in taken else "checkpoint"), True


def _as(source: Source) -> str:
    name = checkpoint_name(source)[0]
    return "" if name == "checkpoint" else f" as {name}"


class Call:
    """One call of the program that leads to blocks, to be edited."""

    def __init__(self, source: Source, group: Group) -> None:
        self.source, self.group = source, group
        self._checkpoint = checkpoint_name(source)[0]
        self._where = f"{source.file}:{group.site.place['line']}"
        self._node = self._find()

    def _find(self) -> ast.Call:
        how = self.group.site.how
        for node in self.source.at(self.group.site.place):
            if not isinstance(node, ast.Call):
                continue
            checkpoints = name_of(node) == self._checkpoint or name_of(node) == "checkpoint"
            if checkpoints == (how == CHECKPOINTED):
                return node
        raise Unreadable(f"{self._where} does not call the blocks in a way that can be edited")

    def edits(self) -> list[Edit]:
        """None where the program is as it should be."""
        return self._sequential() if self.group.site.how == SEQUENTIAL else self._single()

    # ---- block(x), checkpoint(block, x)

    def _single(self) -> list[Edit]:
        source, node, chosen = self.source, self._node, self.group.chosen
        checkpointed = self.group.site.how == CHECKPOINTED
        if all(chosen) if checkpointed else not any(chosen):
            return []
        block, arguments = self._parts()
        plain = f"{source.operand(block)}({arguments})"
        again = source.segment(node) if checkpointed else self._again(source.segment(block), arguments)
        if all(chosen) or not any(chosen):
            return [source.replace(node, again if all(chosen) else plain)]
        index, edits = self._index(block)
        condition = condition_of(index, self._turns(block))
        text = f"{again} if {condition} else {plain}"
        whole = isinstance(source.parents.get(node), (ast.Assign, ast.Return))
        return [*edits, source.replace(node, text) if whole else source.grouped(node, text)]

    def _parts(self) -> tuple[ast.expr, str]:
        """The block as an expression, and its arguments as text."""
        source, node = self.source, self._node
        if self.group.site.how == DIRECT:
            block, given = node.func, [*node.args, *node.keywords]
        else:
            if not node.args or isinstance(node.args[0], ast.Starred):
                raise Unreadable(f"{self._where}: what is checkpointed is not an argument of its own")
            block, given = node.args[0], [*node.args[1:], *(k for k in node.keywords if k.arg not in OPTIONS)]
        return block, ", ".join(source.segment(one) for one in given)

    def _again(self, block: str, arguments: str) -> str:
        between = f", {arguments}" if arguments else ""
        return f"{self._checkpoint}({block}{between}, use_reentrant=False)"

    def _loop(self, block: ast.expr) -> ast.For:
        loop = self.source.above(self._node, ast.For)
        if loop is None:
            raise Unreadable(f"{self._where}: several blocks are called there, and not in a loop")
        return loop

    def _turns(self, block: ast.expr) -> list[bool]:
        """Whether each turn of the loop is to be checkpointed."""
        loop = self._loop(block)
        over = loop.iter.args[0] if isinstance(loop.iter, ast.Call) and name_of(loop.iter) == "enumerate" else loop.iter
        if isinstance(over, (ast.Name, ast.Attribute)) and len(self.group.container) >= len(self.group.chosen):
            return self.group.container
        return self.group.chosen

    def _index(self, block: ast.expr) -> tuple[str, list[Edit]]:
        """An expression that counts the turns of the loop, and what must be edited to have it."""
        source, loop = self.source, self._loop(block)
        target, over = loop.target, loop.iter
        if isinstance(block, ast.Subscript) and isinstance(target, ast.Name) and name_of(over) == "range":
            if isinstance(block.slice, ast.Name) and block.slice.id == target.id and len(over.args) == 1:  # type: ignore[attr-defined]
                return target.id, []
        if isinstance(block, ast.Name) and isinstance(target, ast.Tuple) and name_of(over) == "enumerate":
            first = target.elts[0]
            counted = isinstance(over, ast.Call) and len(over.args) == 1 and not over.keywords
            if counted and isinstance(first, ast.Name) and len(target.elts) == 2:
                return first.id, []
        if isinstance(block, ast.Name) and isinstance(target, ast.Name) and target.id == block.id:
            name = self._fresh("i", "index", "block_index")
            start, end = source.span(over)
            return name, [
                Edit(source.span(target)[0], source.span(target)[0], f"{name}, "),
                Edit(start, end, f"enumerate({source.text[start:end]})"),
            ]
        raise Unreadable(f"{self._where}: the loop over the blocks does not tell which block it is at")

    def _fresh(self, *names: str) -> str:
        taken = {node.id for node in ast.walk(self.source.tree) if isinstance(node, ast.Name)}
        taken |= {node.arg for node in ast.walk(self.source.tree) if isinstance(node, ast.arg)}
        for name in (*names, *(f"{names[-1]}_{n}" for n in range(len(taken) + 1))):
            if name not in taken:
                return name
        raise AssertionError("more names are taken than there are")

    # ---- self.blocks(x), of a Sequential

    def _sequential(self) -> list[Edit]:
        source, node, chosen = self.source, self._node, self.group.container
        if not any(chosen):
            return []
        plain_argument = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
        statement: Any = source.above(node, ast.stmt)
        if not plain_argument or not chosen or statement is None or not source.alone(statement):
            raise Unreadable(f"{self._where}: the call of the container cannot be written as a loop")
        container, argument = source.segment(node.func), source.segment(node.args[0])
        hidden, block, index = self._fresh("hidden"), self._fresh("block"), self._fresh("i", "index", "block_index")
        again = self._again(block, hidden)
        step = source.step()
        if all(chosen):
            loop = [f"for {block} in {container}:", f"{step}{hidden} = {again}"]
        else:
            condition = condition_of(index, chosen)
            loop = [
                f"for {index}, {block} in enumerate({container}):",
                f"{step}{hidden} = {again} if {condition} else {block}({hidden})",
            ]
        return [source.before(statement, f"{hidden} = {argument}", *loop), source.replace(node, hidden)]


def condition_of(index: str, chosen: list[bool]) -> str:
    """The shortest expression that is true for the chosen turns of a loop; some are chosen and some are not."""
    turns = [at for at, one in enumerate(chosen) if one]
    count, first = len(turns), turns[0]
    if turns == list(range(count)):
        return f"{index} < {count}" if count > 1 else f"{index} == 0"
    if turns == list(range(first, len(chosen))) and count > 1:
        return f"{index} >= {first}"
    if count == 1:
        return f"{index} == {first}"
    apart = turns[1] - first
    if turns == list(range(first, len(chosen), apart)) and first < apart:
        return f"{index} % {apart} == {first}"
    return f"{index} in ({', '.join(map(str, turns))})"


def told(error: Unreadable, enable: str | None, every: bool) -> str:
    """Why there is no diff, and what can be done instead."""
    if enable is not None and every:
        return f"{error}; call {enable} to checkpoint all blocks"
    return str(error)


def paths(files: dict[str, tuple[Source, str]]) -> dict[str, str]:
    """Texts by the path under which the program reads the file."""
    return {os.path.realpath(path): text for path, (_, text) in files.items()}
