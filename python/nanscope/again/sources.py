"""Sources that differ from the files: a program is run with a change, and no file is written."""

from __future__ import annotations

import importlib.machinery
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


def of(path: str) -> bytes | None:
    """What stands for the file `path`; `None` where that is the file itself."""
    return _put.get(os.path.realpath(path)) if _put else None
