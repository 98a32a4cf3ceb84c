"""A call of the program that raises."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType


class OnFailure:
    """Calls `mark` when an `Exception` leaves the block, and lets it pass: it is the program's, and none of ours is hidden by it.
    What ends the program (`KeyboardInterrupt`, `SystemExit`, our own `Stop`) marks nothing."""

    __slots__ = ("_mark",)

    def __init__(self, mark: Callable[[], None]) -> None:
        self._mark = mark

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            self._mark()
