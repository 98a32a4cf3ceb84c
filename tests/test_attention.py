"""Attention beside its formula: kernels that are right are never accused, kernels with a planted fault are."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from nanscope.attention import operators
from nanscope.attention.bound import Rounding
from nanscope.attention.shadow import Gap, Shadow, Unchecked, excluded_keys
from nanscope.attention.statistics import of_softmax
from tests.attention_kernels import FAULTS, installed

aten = torch.ops.aten
CPU = aten._scaled_dot_product_flash_attention_for_cpu.default
CPU_BACKWARD = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
FLASH = aten._scaled_dot_product_flash_attention.default
FLASH_BACKWARD = aten._scaled_dot_product_flash_attention_backward.default
MATH = aten._scaled_dot_product_attention_math.default
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
DRAWS = 2000
pytestmark = pytest.mark.apart


class Draws:
    """Random calls: shapes, heads that share keys, formats, masks, scales, sizes of logits."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)  # what kernels drop

    def of(self, *choices: Any) -> Any:
        return choices[int(torch.randint(len(choices), (), generator=self.generator))]

    def count(self, most: int) -> int:
        return 1 + int(torch.randint(most, (), generator=self.generator))

    def normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=self.generator)

    def call(self) -> tuple[Any, dict[str, Any]]:
        dtype, batch, key_heads, groups = self.of(*DTYPES), self.count(2), self.count(2), self.of(1, 1, 2, 3)
        heads, queries, width = key_heads * groups, self.count(32), self.of(4, 8, 16, 32)
        keys = self.of(self.count(32), self.count(32), self.count(40), 512 + self.count(40) if queries < 8 else 7)
        size = self.of(0.1, 1.0, 3.0, 8.0)
        q = (self.normal(batch, heads, queries, width) * size).to(dtype)
        k = (self.normal(batch, key_heads, keys, width) * size).to(dtype)
        v = (self.normal(batch, key_heads, keys, width) * self.of(0.01, 1.0, 100.0)).to(dtype)
        kind = self.of("none", "causal", "excluded", "padding", "finite", "bias")
        mask = torch.zeros(queries, keys, dtype=dtype)
        if kind == "excluded":
            mask = mask.masked_fill(torch.rand(queries, keys, generator=self.generator) < 0.4, -torch.inf)
        elif kind in ("padding", "finite"):
            hidden = torch.rand(batch, 1, 1, keys, generator=self.generator) < 0.4
            mask = mask.masked_fill(hidden, -torch.inf if kind == "padding" else torch.finfo(dtype).min)
        elif kind == "bias":
            mask = (self.normal(1, heads, queries, keys) * 4).to(dtype)
        scale = self.of(None, None, 0.01, 1.0)
        given = None if kind in ("none", "causal") else mask
        return (q, k, v, 0.0, kind == "causal"), {"attn_mask": given, "scale": scale}


def compared(func: Any, args: Any, kwargs: Any, result: Any) -> list[Gap]:
    call = operators.read(func, args, kwargs)
    assert call is not None
    return Shadow(call, operators.results(func, args, kwargs, result)).run()


def both(args: Any, kwargs: Any, grad: torch.Tensor) -> list[Gap]:
    """A call of the kernel for CPUs and its backward."""
    out, lse = CPU(*args, **kwargs)
    behind = (grad, *args[:3], out, lse, *args[3:])
    return [
        *compared(CPU, args, kwargs, (out, lse)),
        *compared(CPU_BACKWARD, behind, kwargs, CPU_BACKWARD(*behind, **kwargs)),
    ]


def dropped(args: Any, grad: torch.Tensor) -> list[Gap]:
    """A call with dropout, and its backward."""
    made = FLASH(*args)
    q, k, v, p, causal = args
    behind = (grad, q, k, v, *made[:4], q.shape[-2], k.shape[-2], p, causal, made[6], made[7])
    return [*compared(FLASH, args, {}, made), *compared(FLASH_BACKWARD, behind, {}, FLASH_BACKWARD(*behind))]


def test_no_kernel_of_torch_is_accused_in_random_calls() -> None:
    draws, elements, worst = Draws(0), 0, 0.0
    for _ in range(DRAWS):
        args, kwargs = draws.call()
        grad = draws.normal(*args[0].shape).to(args[0].dtype)
        for gap in both(args, kwargs, grad):
            assert gap.differ == 0, (gap, [t.shape for t in args[:3]], kwargs)
            elements, worst = elements + gap.of, max(worst, gap.ratio)
    assert elements > 4_000_000
    assert 0.1 < worst < 1  # what is allowed is near enough to what kernels do


def test_the_formula_that_torch_spells_out_is_not_accused() -> None:
    draws = Draws(1)
    for _ in range(100):
        (q, k, v, _, causal), kwargs = draws.call()
        args = (q, k, v, kwargs["attn_mask"], 0.0, causal)
        more = {"scale": kwargs["scale"], "enable_gqa": q.shape[1] != k.shape[1]}
        (gap,) = compared(MATH, args, more, MATH(*args, **more))
        assert gap.differ == 0, gap


def faulty(fault: str | None, draws: Draws, dtype: torch.dtype) -> list[Gap]:
    """A call in which the fault shows, under it."""
    batch, heads, queries, keys, width = 2, draws.count(3), 48, draws.of(35, 43, 41), draws.of(8, 16)
    q, k, v = (draws.normal(batch, heads, n, width).to(dtype) for n in (queries, keys, keys))
    grad = draws.normal(batch, heads, queries, width).to(dtype)
    with installed(fault):
        if fault == "dropout-scale":
            return dropped((q * 0.5, k, v + 1, 0.2, False), grad)
        mask = torch.zeros(1, 1, queries, keys, dtype=dtype)
        mask[..., -draws.count(4) :] = -torch.inf
        causal = fault == "mask-off-by-one"
        padded = fault == "padding-in-backward"
        return both((q, k, v, 0.0, causal), {"attn_mask": mask if padded else None}, grad)


@pytest.mark.parametrize("dtype", DTYPES[:3], ids=str)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_planted_fault_is_found(fault: str, dtype: torch.dtype) -> None:
    draws = Draws(2)
    for _ in range(20):
        wrong = {gap.name for gap in faulty(fault, draws, dtype) if gap.differ}
        assert wrong, fault
        if fault == "padding-in-backward":
            assert wrong <= {"grad_query", "grad_key", "grad_value"}


def test_the_same_kernel_without_a_fault_is_right() -> None:
    draws = Draws(3)
    with installed(None):
        for _ in range(400):
            args, kwargs = draws.call()
            if args[0].shape[1] != args[1].shape[1] or args[0].dtype is torch.float64:
                continue
            grad = draws.normal(*args[0].shape).to(args[0].dtype)
            assert not [gap for gap in both(args, kwargs, grad) if gap.differ]
            # Here the mask of the operator that drops ends at the last key, that of the kernel begins at the first.
            causal = args[4] and args[0].shape[-2] == args[1].shape[-2]
            assert not [gap for gap in dropped((*args[:3], draws.of(0.1, 0.5), causal), grad) if gap.differ]


def test_dropout_is_compared_in_the_mean() -> None:
    q, k, v = (torch.randn(2, 4, 64, 16, generator=torch.Generator().manual_seed(i)) for i in range(3))
    with installed(None):
        gaps = dropped((q, k, v, 0.3, False), torch.ones_like(q))
    told = {gap.name: gap.expected for gap in gaps}
    assert told == {"out": True, "logsumexp": False, "grad_query": True, "grad_key": True, "grad_value": True}


def test_rows_without_a_key_are_left_alone() -> None:
    q, k, v = (torch.randn(1, 1, 3, 4) for _ in range(3))
    mask = torch.zeros(3, 3)
    mask[1] = -torch.inf
    args, kwargs = (q, k, v), {"attn_mask": mask}
    for value in (0.0, math.nan):
        out, lse = CPU(*args, **kwargs)
        out[0, 0, 1] = value
        gaps = compared(CPU, args, kwargs, (out, lse))
        assert [(gap.of, gap.differ) for gap in gaps] == [(8, 0), (2, 0)]


def test_a_product_that_leaves_float16_is_no_fault_of_the_kernel() -> None:
    q = torch.full((1, 1, 2, 64), 200.0, dtype=torch.float16)
    v = torch.ones(1, 1, 2, 64, dtype=torch.float16)
    out = torch.full_like(v, math.nan)
    gaps = compared(CPU, (q, q, v), {}, (out, torch.zeros(1, 1, 2)))
    assert [gap.differ for gap in gaps] == [0, 0]


def test_what_cannot_be_compared_says_why() -> None:
    q = torch.ones(1, 1, 2, 4)
    q[0, 0, 0, 0] = math.nan
    with pytest.raises(Unchecked, match="not finite"):
        compared(CPU, (q, q, q), {}, (q, torch.zeros(1, 1, 2)))


def test_a_causal_mask_begins_or_ends_with_the_keys() -> None:
    q, k = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 3, 4)
    call = operators.read(CPU, (q, k, k, 0.0, True), {})
    assert call is not None
    assert excluded_keys(call).tolist() == [[False, True, True], [False, False, True]]  # type: ignore[union-attr]
    call.align_end = True
    assert excluded_keys(call).tolist() == [[False, False, True], [False, False, False]]  # type: ignore[union-attr]
    call.causal, call.window = False, (0, 0)
    assert excluded_keys(call).tolist() == [[True, False, True], [True, True, False]]  # type: ignore[union-attr]


def test_a_narrow_format_allows_what_it_must_and_no_more() -> None:
    """Rounding of an exact result to the stored format lies within the bound, twice that of the values does not."""
    generator = torch.Generator().manual_seed(5)
    for dtype in DTYPES[:3]:
        q, k, v = (torch.randn(1, 2, 16, 8, generator=generator).to(dtype) for _ in range(3))
        call = operators.read(CPU, (q, k, v), {})
        assert call is not None
        exact = (q.double() @ k.double().mT / math.sqrt(8)).softmax(-1) @ v.double()
        (right,) = Shadow(call, {"out": exact.to(dtype)}).run()
        (wrong,) = Shadow(call, {"out": (exact * (1 + 64 * Rounding.of(dtype, "cpu").stored)).to(dtype)}).run()
        assert right.differ == 0 and right.ratio < 0.5
        assert wrong.differ > 0 or dtype is torch.float32  # of which the sums are as coarse as what is stored


def test_heads_are_told_one_by_one() -> None:
    logits = torch.zeros(2, 3, 4, 4)
    logits[:, 1] = torch.eye(4) * 1000
    logits[:, 2, :, 2:] = -torch.inf
    logits[1, 2, 0] = -torch.inf
    found = of_softmax(logits, logits.softmax(-1), None)
    assert found is not None
    even, sharp, masked = found.plain()
    assert (even["largest"], even["masked"], even["keyless"]) == (0.0, 0.0, 0)
    assert even["entropy"] == pytest.approx(math.log(4)) == even["even"]
    assert (sharp["largest"], sharp["entropy"]) == (1000.0, pytest.approx(0.0))
    assert (masked["masked"], masked["keyless"]) == (18 / 32, 1)
    assert masked["entropy"] == pytest.approx(math.log(2)) == masked["even"]


@pytest.mark.parametrize("constant", [-1e4, -1e9, -65504.0])
def test_a_finite_mask_is_told_from_large_logits(constant: float) -> None:
    logits = torch.randn(1, 1, 4, 6, generator=torch.Generator().manual_seed(0))
    masked = logits.clone()
    masked[..., 4:] += constant
    share = [of_softmax(x, x.softmax(-1), None).plain()[0]["masked"] for x in (masked, logits * 1e6)]  # type: ignore[union-attr]
    assert share == [pytest.approx(2 / 6), 0.0]
