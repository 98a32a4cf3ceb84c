"""What is measured where a tensor lies, beside the definition in Rust."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nanscope import _core
from nanscope.device import measure
from nanscope.replay import values
from tests.launch import watched

FORMATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e-40, 65504.0, 1e300)
apart = pytest.mark.apart  # they compute


def tensor(dtype: torch.dtype, seed: int, size: int, special: float) -> torch.Tensor:
    """Random numbers of very different sizes, the share `special` of them of the kinds that are told apart."""
    draws = torch.Generator().manual_seed(seed)
    parts = 2 * size if dtype.is_complex else size
    exponents = torch.randint(-12, 12, (parts,), generator=draws).double()
    x = torch.randn(parts, generator=draws, dtype=torch.float64) * 2**exponents
    chosen = torch.rand(parts, generator=draws) < special
    picked = torch.tensor(SPECIAL, dtype=torch.float64)[torch.randint(len(SPECIAL), (parts,), generator=draws)]
    x = torch.where(chosen, picked, x)
    return (torch.view_as_complex(x.reshape(-1, 2)) if dtype.is_complex else x).to(dtype)


@apart
@settings(deadline=None, max_examples=150)
@given(st.sampled_from(FORMATS), st.integers(0, 1 << 30), st.integers(0, 40), st.sampled_from([0.0, 0.1, 1.0]))
def test_counts(dtype: torch.dtype, seed: int, size: int, special: float) -> None:
    x = tensor(dtype, seed, size, special)
    assert measure.counts(x) == _core.counts(x)
    assert measure.counts(x[::3]) == _core.counts(x[::3])


@apart
@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(FORMATS), st.integers(0, 1 << 30), st.integers(0, 40), st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([0.0, 1e-9, 1.0]), st.sampled_from([3, 1 << 21]),
)  # fmt: skip
def test_drift(dtype: torch.dtype, seed: int, size: int, special: float, noise: float, chunk: int) -> None:
    run = tensor(dtype, seed, size, special)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    other = tensor(wide, seed + 1, size, special)
    reference = run.to(wide) * (1 + noise * (torch.arange(size) % 3))
    reference = torch.where(torch.arange(size) % 5 == 4, other, reference)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "CHUNK", chunk)
        found = measure.drift(run, reference)
    right = _core.drift(run, reference)
    assert found is not None and right is not None
    assert found[1:] == right[1:]
    assert found[0] == pytest.approx(right[0], rel=1e-12)


@apart
def test_what_does_not_fit() -> None:
    x = torch.ones(3)
    assert measure.drift(x, torch.ones(4, dtype=torch.float64)) is None
    assert measure.drift(x, torch.ones(3)) is None


@apart
def test_views() -> None:
    x = torch.randn(4, 6, dtype=torch.complex64).conj()
    assert measure.counts(x) == _core.counts(x.resolve_conj())
    y = torch.randn(5, 7)[:, ::2].T
    assert measure.drift(y, y.double() * 2) == pytest.approx(_core.drift(y, (y.double() * 2).contiguous()))


@pytest.mark.parametrize(
    "name", ["S01_inverse_under_autocast", "A49_variance_by_subtraction", "P33_bf16_one_minus_eps"]
)
def test_the_report_of_a_run_is_the_same(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tensor measured in this way, and none."""
    program = Path("corpus/programs", f"{name}.py").absolute().read_text()

    def told(folder: Path) -> dict[str, Any]:
        folder.mkdir()
        found = watched(folder, program).found
        for changing in ("run", "notes"):
            found.pop(changing, None)
        found["replay"].pop("seconds"), found["replay"].get("whole", {}).pop("seconds", None)
        return found

    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: rounded(item) for key, item in value.items()}
        if isinstance(value, list):
            return [rounded(item) for item in value]
        return float(f"{value:.9g}") if isinstance(value, float) else value

    here = told(tmp_path / "here")

    def is_elsewhere(x: torch.Tensor) -> bool:
        if x.is_meta or x.layout is not torch.strided or x.dtype.itemsize < 2:
            return False
        return x.is_floating_point() or x.is_complex()

    monkeypatch.setattr(values, "is_elsewhere", is_elsewhere)
    monkeypatch.setattr(_core, "counts", None)
    monkeypatch.setattr(_core, "drift", None)
    assert rounded(told(tmp_path / "elsewhere")) == rounded(here)
