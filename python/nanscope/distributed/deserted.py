"""Errors that say that another rank did not come to a collective."""

from __future__ import annotations

from typing import Any

import torch

from nanscope.capture.lines import is_user
from nanscope.replay.places import place

# What gloo says, which raises plain RuntimeErrors; every other backend and the store have errors of their own.
_GLOO = ("gloo/transport", "Connection closed by peer", "Connection reset by peer")
_CAUSES_MAX = 8  # errors behind an error that are looked at


def deserted(error: BaseException | None, base: str) -> dict[str, Any] | None:
    """The innermost line of the program in the traceback of such an error, as a `Place`; `None` for other errors."""
    found = desertion(error)
    return None if found is None else _line(found, base)


def desertion(error: BaseException | None) -> BaseException | None:
    """Such an error among `error` and what has led to it."""
    for _ in range(_CAUSES_MAX):
        if error is None or _is_one(error):
            return error
        error = error.__cause__ or error.__context__
    return None


def _is_one(error: BaseException) -> bool:
    home: Any = torch.distributed
    kinds = tuple(
        getattr(home, name)
        for name in ("DistBackendError", "DistNetworkError", "DistStoreError")
        if hasattr(home, name)
    )
    return isinstance(error, kinds) or (isinstance(error, RuntimeError) and any(text in str(error) for text in _GLOO))


def _line(error: BaseException, base: str) -> dict[str, Any] | None:
    found = None
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user(code):
            found = place(code, traceback.tb_lasti, traceback.tb_lineno, base)
        traceback = traceback.tb_next
    return found
