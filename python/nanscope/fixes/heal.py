"""A fix made in the running program: functions get the code that they would have if the file were changed."""

from __future__ import annotations

import gc
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from nanscope import _core

if TYPE_CHECKING:
    from nanscope.watcher import Watcher


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
            files, _, _ = _core.fixed(folder.place, number, folder.lang)
            for path, data in files:
                with open(path, "rb") as file:
                    put(path, file.read(), bytes(data))
        except (Unhealable, ValueError, OSError, SyntaxError) as error:
            watcher.warn(f"the fix {fix['id']} was not made: {error}")
            continue
        watcher.warn(f"step {report['trip']['step']}: the update was left out, and the fix {fix['id']} made in memory")
        return True
    return False


def put(path: str, before: bytes, after: bytes) -> None:
    """Gives every function of the file `path` its new code. Raises `Unhealable` where that would not reach what is running."""
    changed = differing(
        compile(before, path, "exec", dont_inherit=True), compile(after, path, "exec", dont_inherit=True)
    )
    running = set()
    frame: Any = sys._getframe()
    while frame is not None:
        running.add(key(frame.f_code))
        frame = frame.f_back
    for old, _ in changed:
        if key(old) in running:
            raise Unhealable(f"{old.co_qualname} is running, and goes on with the code that it began with")
    wanted = {key(old): new for old, new in changed}
    functions = [f for f in gc.get_objects() if type(f) is FunctionType and key(f.__code__) in wanted]
    for old, new in changed:
        if old.co_freevars != new.co_freevars:
            raise Unhealable(f"{old.co_qualname} uses other variables of the function around it")
        if not any(key(f.__code__) == key(old) for f in functions):
            raise Unhealable(f"no function {old.co_qualname} was found")
    for function in functions:
        function.__code__ = wanted[key(function.__code__)]


def key(code: CodeType) -> tuple[str, str, int]:
    """What tells the code of one function from that of another."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def differing(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]]:
    """Pairs of code that do not do the same, innermost only. Raises `Unhealable` where functions were added or removed."""
    olds, news = inner(old), inner(new)
    if [code.co_name for code in olds] != [code.co_name for code in news]:
        raise Unhealable("the fix adds or removes a function")
    found = [pair for a, b in zip(olds, news, strict=True) for pair in differing(a, b)]
    if same(old, new):
        return found
    if old.co_name == "<module>":
        raise Unhealable("it changes code at the top level of a file, which has run or is running")
    # Code within it goes with it: a function made later has the new one.
    return [*found, (old, new)]


def inner(code: CodeType) -> list[CodeType]:
    """Code of the functions, classes and comprehensions in it."""
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def same(old: CodeType, new: CodeType) -> bool:
    """Whether the two do the same, but for code within them and for where they lie."""

    def plain(code: CodeType) -> Any:
        consts = [repr(c) if not isinstance(c, CodeType) else c.co_qualname for c in code.co_consts]
        return code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars

    return bool(plain(old) == plain(new))
