"""Sources that differ from the files: a program is run with a change, and no file is written."""

from __future__ import annotations

import importlib.machinery
import io
import linecache
import os
from typing import Any

_put: dict[str, bytes] = {}


def put(sources: dict[str, str]) -> None:
    """From now on the files that are the keys (absolute paths) are taken to hold the values, wherever Python reads code.

    A line end is what the text says it is: nothing is translated.
    """
    if not sources:
        return
    for path, text in sources.items():
        data = text.encode("utf-8", "surrogateescape")
        _put[os.path.realpath(path)] = data
        # For tracebacks, `inspect.getsource` and what builds on it; None: never compared with the file.
        linecache.cache[path] = (len(data), None, text.splitlines(keepends=True), path)
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        data = of(self.path)
        return original(self, fullname) if data is None else self.source_to_code(data, self.path)

    loader.get_code = get_code
    _put_for_runpy()
    _hand_on()


def _put_for_runpy() -> None:
    """`runpy.run_path` reads by itself: the program in a process that is spawned, as `__mp_main__`."""
    opened = io.open_code

    def open_code(path: str) -> Any:
        data = of(path)
        return opened(path) if data is None else io.BytesIO(data)

    io.open_code = open_code


def _hand_on() -> None:
    """Processes that do not begin as a copy of this one get the same sources, before they import the program."""
    from multiprocessing import forkserver, spawn

    prepared = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        # Unpickled first of all; read by key afterwards, so that one more does no harm.
        return {"nanscope": _Carried(dict(_put)), **prepared(name)}

    spawn.get_preparation_data = get_preparation_data
    # A fork server would import the program from its file for all that it starts.
    server: Any = forkserver._forkserver
    server._preload_modules = [name for name in server._preload_modules if name != "__main__"]


class _Carried:
    """Sources on their way into another process: they take their place there as soon as they are unpickled."""

    def __init__(self, sources: dict[str, bytes]) -> None:
        self._sources = sources

    def __reduce__(self) -> Any:
        texts = {path: data.decode("utf-8", "surrogateescape") for path, data in self._sources.items()}
        return put, (texts,)


def of(path: str) -> bytes | None:
    """What stands for the file `path`; `None` where that is the file itself."""
    return _put.get(os.path.realpath(path)) if _put else None
