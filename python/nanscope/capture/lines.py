"""Which line of the user's program a call came from."""

from __future__ import annotations

import os
import sysconfig
from types import CodeType

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_user: dict[CodeType, bool] = {}  # per code object, so that a frame costs one dict lookup
_skip: tuple[str, ...] = ()


def _prefixes() -> tuple[str, ...]:
    import torch

    paths = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(torch.__file__), _HERE}
    return tuple(os.path.realpath(p) + os.sep for p in paths) + tuple(p + os.sep for p in paths)


def is_user(code: CodeType) -> bool:
    """True for code outside torch, nanscope and the standard library; a package such as `transformers` counts as user code."""
    known = _user.get(code)
    if known is None:
        global _skip
        _skip = _skip or _prefixes()
        name = code.co_filename
        site = "site-packages" in name or "dist-packages" in name
        below = any(name.startswith(p) for p in _skip)
        # The standard library's folder contains site-packages: what lies there is skipped only if it is torch or nanscope.
        if below and site:
            below = any(name.startswith(p) for p in _skip if "-packages" in p)
        known = not below and not name.startswith("<frozen")
        if code.co_name in ("__torch_function__", "__torch_dispatch__"):  # a mode of the program's own, not the caller
            known = False
        if name.startswith("<") and not name.startswith("<ipython"):
            known = False
        _user[code] = known
    return known
