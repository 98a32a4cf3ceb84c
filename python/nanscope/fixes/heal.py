"""A fix made in the running program: functions get the code that they would have if the file were changed."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from nanscope import _core

if TYPE_CHECKING:
    from nanscope.watcher import Watcher


Edit = tuple[FunctionType, CodeType]  # a function, and the code that it is to have


class Unhealable(Exception):
    """The fix cannot be made while the program runs; the text says why."""


def heal(watcher: Watcher) -> bool:
    """Proves fixes for the first trip of the run and makes the best that can be made. Returns whether one was: not for a later
    trip, since what was made has not helped then."""
    folder = watcher.run_folder
    if not watcher.proved():
        return False
    report = watcher.report or {}
    for number, fix in enumerate(report.get("fixes", []), 1):
        if not (fix.get("proof") or {}).get("proved"):
            continue
        try:
            wanted = edits(folder.place, number, folder.lang)
        except Unhealable as error:
            watcher.warn(f"the fix {fix['id']} was not made: {error}")
            continue
        make(wanted)
        watcher.warn(f"step {report['trip']['step']}: the fix {fix['id']} was made in memory, and the update left out")
        return True
    return False


def edits(folder: str, number: int, lang: str) -> list[Edit]:
    """What fix `number` of a run folder changes in this process. Raises `Unhealable`; nothing is changed yet."""
    try:
        files, _, _ = _core.fixed(folder, number, lang)
        wanted: list[Edit] = []
        for path, data in files:
            with open(path, "rb") as file:
                wanted += replacements(path, file.read(), bytes(data))
    except (ValueError, OSError, SyntaxError) as error:
        raise Unhealable(str(error)) from None
    return wanted


def make(wanted: list[Edit]) -> None:
    """Gives functions their new code."""
    for function, code in wanted:
        function.__code__ = code


def replacements(path: str, before: bytes, after: bytes) -> list[Edit]:
    """Functions of the file `path`, each with its new code. Raises `Unhealable` where that would not reach what is running."""
    changed = differing(
        compile(before, path, "exec", dont_inherit=True), compile(after, path, "exec", dont_inherit=True)
    )
    running = set()
    for frame in sys._current_frames().values():
        at: Any = frame
        while at is not None:
            running.add(key(at.f_code))
            at = at.f_back
    functions: dict[Any, list[FunctionType]] = {}
    for found in gc.get_objects():
        if type(found) is FunctionType:
            functions.setdefault(key(found.__code__), []).append(found)
    pairs: list[Edit] = []
    for old, new, itself in changed:
        reached = functions.get(key(old), [])
        if (
            not itself
        ):  # it only makes functions that are changed: those to come have the new code, where it can be replaced
            pairs += [(f, new) for f in reached if key(old) not in running]
            continue
        if key(old) in running:
            raise Unhealable(f"{old.co_qualname} is running, and goes on with the code that it began with")
        if old.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            raise Unhealable(f"{old.co_qualname} is a generator, which may have begun already")
        if old.co_freevars != new.co_freevars:
            raise Unhealable(f"{old.co_qualname} uses other variables of the function around it")
        if not reached:
            raise Unhealable(f"no function {old.co_qualname} was found")
        pairs += [(function, new) for function in reached]
    return pairs


def key(code: CodeType) -> tuple[str, str, int]:
    """What tells the code of one function from that of another, however its file was reached."""
    return os.path.realpath(code.co_filename), code.co_qualname, code.co_firstlineno


def differing(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType, bool]]:
    """Pairs of code that do not do the same, each with whether it differs itself or only in code within it. Raises `Unhealable`
    where functions were added or removed, and for code at the top level."""
    olds, news = inner(old), inner(new)
    if [code.co_name for code in olds] != [code.co_name for code in news]:
        raise Unhealable("the fix adds or removes a function")
    found = [pair for a, b in zip(olds, news, strict=True) for pair in differing(a, b)]
    itself = not same(old, new)
    if old.co_name == "<module>":
        if itself:
            raise Unhealable("it changes code at the top level of a file, which has run or is running")
        return found
    return [*found, (old, new, itself)] if itself or found else found


def inner(code: CodeType) -> list[CodeType]:
    """Code of the functions, classes and comprehensions in it."""
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def same(old: CodeType, new: CodeType) -> bool:
    """Whether the two do the same, but for code within them and for where they lie."""

    def plain(code: CodeType) -> Any:
        consts = [repr(c) if not isinstance(c, CodeType) else c.co_qualname for c in code.co_consts]
        return code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars

    return bool(plain(old) == plain(new))
