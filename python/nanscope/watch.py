"""The front door: `watch()` installs capture and removes it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from types import TracebackType

    from nanscope.watcher import Watcher

OnTrip = Literal["stop", "skip", "continue"]
Lang = Literal["en", "ko"]


def watch(
    *,
    on_trip: OnTrip = "stop",
    out: str | None = None,
    diagnose_first: int = 1,
    check: int | None = 0,
    check_ranks: int | None = 0,
    check_attention: int | None = None,
    budget: float = 60.0,
    quiet: bool = False,
    lang: Lang | None = None,
) -> Scope:
    """Watches the training done inside a `with` block, in a notebook or a library.

    `on_trip`: `stop` diagnoses and leaves the block before the bad update is made; `skip` leaves the update out and goes
    on; `continue` lets it happen. With the last two, the first `diagnose_first` trips are diagnosed. `out` is the run
    folder (a new one below `nanscope-runs/` by default). `check` is the number of steps from one comparison of
    recomputation under gradient checkpointing with the forward pass to the next; 0 compares one early step only, `None`
    none. `check_attention` is that from one comparison of kernels of attention with their formula in float64 to the next, `None`
    for none, `check_ranks` that from one comparison between ranks to the next, 0 as often as it costs little, `None` for none.
    `budget` is the number of seconds that experiments on the failing step may take; 0 makes none. `quiet` prints
    nothing. `lang` is the language of the report, that of the locale by default.

    Raises `OSError` if the run folder cannot be written, `RuntimeError` if a watch is on already in this process.

        with nanscope.watch() as scope:
            train()
        if scope.report:
            print(scope.report["origin"]["line"])
    """
    return Scope(
        on_trip=on_trip, out=out, diagnose_first=diagnose_first, check=check, check_attention=check_attention,
        check_ranks=check_ranks, budget=budget, quiet=quiet, lang=lang,
    )  # fmt: skip


class Scope:
    """One watched block. `report` is the report as plain data after a trip, otherwise `None`; `folder` is the run folder."""

    def __init__(
        self,
        *,
        on_trip: OnTrip,
        out: str | None,
        diagnose_first: int,
        check: int | None,
        check_ranks: int | None,
        check_attention: int | None,
        budget: float,
        quiet: bool,
        lang: Lang | None,
    ) -> None:
        if on_trip not in ("stop", "skip", "continue"):
            raise ValueError(f"on_trip: expected 'stop', 'skip' or 'continue', got {on_trip!r}")
        if lang not in (None, "en", "ko"):
            raise ValueError(f"lang: expected 'en', 'ko' or None, got {lang!r}")
        if check is not None and check < 0:
            raise ValueError(f"check: expected a number of steps or None, got {check!r}")
        if check_ranks is not None and check_ranks < 0:
            raise ValueError(f"check_ranks: expected a number of steps or None, got {check_ranks!r}")
        if check_attention is not None and check_attention < 1:
            raise ValueError(f"check_attention: expected a number of steps from 1 on or None, got {check_attention!r}")
        if not budget >= 0:
            raise ValueError(f"budget: expected a number of seconds, got {budget!r}")
        self._options: dict[str, Any] = {
            "on_trip": on_trip,
            "out": out,
            "diagnose_first": diagnose_first,
            "check": check,
            "check_ranks": check_ranks,
            "check_attention": check_attention,
            "budget": budget,
            "lang": lang,
        }
        self._quiet = quiet
        self._watcher: Watcher | None = None
        self.report: dict[str, Any] | None = None
        self.folder: str | None = None

    def __enter__(self) -> Scope:
        import sys

        from nanscope import watcher

        if watcher._active is not None:  # before a folder is made
            raise RuntimeError(
                "nanscope: this process is being watched already; end the first watch before starting another"
            )
        self.report = None
        self._watcher = watcher.Watcher(script=sys.argv[0] or "<interactive>", argv=sys.argv[1:], **self._options)
        self.folder = self._watcher.folder
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        import sys

        from nanscope.run import colour, say
        from nanscope.stop import Stop

        watcher = self._watcher
        if watcher is None:
            return False
        stopped = isinstance(error, Stop)
        watcher.finish("stopped" if stopped else "raised" if error is not None else "finished", error=error)
        self.report = watcher.report
        if self.report is not None and not self._quiet:
            say(sys.stdout, watcher.text(colour=colour("auto")))
        self._watcher = None
        return stopped
