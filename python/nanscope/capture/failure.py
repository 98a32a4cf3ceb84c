"""A call of the program that raises, and one of ours."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanscope.capture.recorder import Recorder


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


class Ours:
    """Around our own code: an `Exception` in it is not the program's business. It is told, and no replay of the step counts as
    exact; our own `Stop` and what ends the program pass."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._recorder.excuse(error)
        return True
