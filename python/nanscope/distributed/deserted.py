"""Errors that say that another rank did not come to a collective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from nanscope.capture.lines import is_user
from nanscope.distributed.peers import stopped
from nanscope.replay.places import place

if TYPE_CHECKING:
    from nanscope.watcher import Watcher

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


def let_down(watcher: Watcher, error: BaseException) -> bool:
    """Whether `error` comes from the stop of another rank: it did not come to a collective, or this rank was told to end."""
    peers = watcher.peers
    if peers is None or watcher.tripped or watcher.on_trip not in ("stop", "heal"):
        return False
    if watcher.errand is not None and stopped(watcher.run_folder.shared):  # a rank that has done its errand leaves
        return True
    if isinstance(error, Exception):
        return desertion(error) is not None and bool(peers.others_tripped())
    return bool(peers.others_stopped())
