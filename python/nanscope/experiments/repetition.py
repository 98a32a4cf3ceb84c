"""The same step again, bit for bit or not; and with deterministic algorithms."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change
from nanscope.outcomes import text


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: `deterministic` (true), or nothing: as it is."""
    if planned["arguments"].get("deterministic"):
        found = bench.outcome(planned, Deterministic())
        return [] if found is None else [found]
    plain = bench.plain
    again = bench.run(Change())
    if plain is None or again.error is not None:
        return []
    same = _same(plain.loss, again.loss) and plain.bits == again.bits
    note = (
        text("loss and gradients equal to the bit", "손실과 기울기가 비트까지 같음")
        if same
        else text(
            "loss or gradients differ: a race, hardware, or memory that nobody has written",
            "손실이나 기울기가 다름: 경쟁 상태, 하드웨어 또는 아무도 쓰지 않은 메모리",
        )
    )
    return [bench.told(planned, again, Change(), note)]


def _same(a: float | None, b: float | None) -> bool:
    return a == b or (a is not None and b is not None and a != a and b != b)


class Deterministic(Change):
    """torch's deterministic algorithms, a warning where there is none; memory that is allocated holds NaN."""

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        mode = torch.get_deterministic_debug_mode()
        fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]
        try:
            yield
        finally:
            torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
            torch.set_deterministic_debug_mode(mode)
