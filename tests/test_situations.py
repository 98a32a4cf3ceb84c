"""The twelve situations by which watchers of bad values are told apart: what is named, and when nothing is said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.launch import PROGRAMS, explained, line_of, watched

FOLDER = PROGRAMS / "situations"
ORIGIN = "# ORIGIN"


@dataclass(frozen=True)
class Expected:
    """`ops` are operators or backward nodes, any of which is right; `mark` is the marked line; `None` is not asked."""

    phase: str
    mark: str | None
    module: str | None
    ops: tuple[str, ...]
    cause: str | None
    index: list[int] | None = None


NOISY = {
    "c01_sqrt_of_negative": Expected("forward", ORIGIN, "model", ("aten.sqrt.default",), "negative-argument", [0]),
    "c02_log_of_negative": Expected("forward", ORIGIN, "model", ("aten.log.default",), "negative-argument", [0]),
    "c03_power_backward": Expected("backward", ORIGIN, "model", ("PowBackward0",), "infinite-derivative", [0]),
    "c04_log_backward_inside_where": Expected("forward", ORIGIN, "model", ("aten.log.default",), "where-gradient-trap", [0]),
    "c05_softmax_of_masked_row": Expected("forward", ORIGIN, "model", ("aten._softmax.default",), "fully-masked-row", [0, 1, 0]),
    "c06_half_overflow_in_second_layer": Expected("forward", ORIGIN, "fc2", ("aten.addmm.default",), "half-overflow", [0, 0]),
    "c07_nan_in_batch_row": Expected("data", None, None, (), "bad-input", [1, 1]),
    "c08_nan_in_weight": Expected("param", None, None, (), None, [0, 0]),
    "c10_sqrt_backward_at_zero": Expected("backward", ORIGIN, "model", ("SqrtBackward0", "PowBackward0"), "infinite-derivative"),
}  # fmt: skip
QUIET = ("c09_healed", "c11_empty_then_filled", "c12_causal_mask")


def test_all_twelve_are_here() -> None:
    assert sorted(p.stem for p in FOLDER.glob("*.py")) == sorted([*NOISY, *QUIET])
    assert len(NOISY) + len(QUIET) == 12


@pytest.mark.parametrize("name", NOISY)
def test_origin(name: str, tmp_path: Path) -> None:
    path, wanted = FOLDER / f"{name}.py", NOISY[name]
    ran = watched(tmp_path, path)
    assert ran.status == 1
    for report in (ran.found, explained(tmp_path)):
        origin = report["origin"]
        assert report["verdict"] == "nonfinite"
        assert report["trip"]["step"] == 0
        assert report["replay"]["faithful"], report.get("warnings")
        assert origin["phase"] == wanted.phase, origin
        if wanted.mark is not None:
            assert (Path(origin["file"]).name, origin["line"]) == (path.name, line_of(path, wanted.mark))
        if wanted.module is not None:
            assert origin.get("module") == wanted.module
        if wanted.ops:
            assert origin.get("node") in wanted.ops or origin.get("op") in wanted.ops, origin
        if wanted.cause is not None:
            assert report["causes"][0]["id"] == wanted.cause
        if wanted.index is not None:
            assert origin["first_index"] == wanted.index, origin


def test_weight_is_named(tmp_path: Path) -> None:
    """An operator that meets a bad weight is not to blame for it."""
    ran = watched(tmp_path, FOLDER / "c08_nan_in_weight.py")
    assert "fc.weight" in ran.out
    assert ran.found["origin"]["bad"] == 1


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    ran = watched(tmp_path, FOLDER / f"{name}.py")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.splitlines() == ["nanscope: 1 steps, nothing found; run folder run"]
    assert explained(tmp_path)["verdict"] == "finite"
