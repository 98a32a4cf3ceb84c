"""The census of a tensor on a GPU, by one Triton kernel: what `nanscope_numeric::census` defines, where the tensor lies.

Numbers are told apart by their bits, as the definition does it, so that no mode of the device (subnormals flushed to zero, say)
has a part in it. Sums are float64, of 16-bit formats too. This imports Triton, and is imported only where a
tensor lies on a GPU.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]

Tensor = torch.Tensor
BLOCK = 1024  # elements that one program reads at a time
PROGRAMS_MAX = 1024


class Format(NamedTuple):
    """A binary format: the integer of its size, bits of its fraction, and the exponent of its smallest subnormal number."""

    integer: torch.dtype
    fraction: int
    smallest: int


FORMATS = {
    torch.float16: Format(torch.int16, 10, -24),
    torch.bfloat16: Format(torch.int16, 7, -133),
    torch.float32: Format(torch.int32, 23, -149),
    torch.float64: Format(torch.int64, 52, -1074),
}
COUNTS = ("nan", "posinf", "neginf", "zero", "subnormal")


@triton.jit  # type: ignore[untyped-decorator]
def _kernel(  # type: ignore[no-untyped-def]
    values, bits, n, step, counts, extremes, sums, first, exponents,
    FRACTION: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Program p reads elements p BLOCK, p BLOCK + step, ... and leaves what it has seen in row p of `counts`, `extremes`, `sums`
    and `first`; it adds to `exponents`, of which entry k counts numbers with floor(log2 |x|) = k + the smallest exponent."""
    program = tl.program_id(0)
    nan = tl.zeros((BLOCK,), tl.int64)
    posinf = tl.zeros((BLOCK,), tl.int64)
    neginf = tl.zeros((BLOCK,), tl.int64)
    zero = tl.zeros((BLOCK,), tl.int64)
    subnormal = tl.zeros((BLOCK,), tl.int64)
    low = tl.full((BLOCK,), float("inf"), tl.float64)
    high = tl.full((BLOCK,), float("-inf"), tl.float64)
    largest = tl.full((BLOCK,), float("-inf"), tl.float64)
    smallest = tl.full((BLOCK,), float("inf"), tl.float64)
    total = tl.zeros((BLOCK,), tl.float64)
    squares = tl.zeros((BLOCK,), tl.float64)
    bad_at = tl.full((BLOCK,), 9223372036854775807, tl.int64)
    magnitude_mask = (1 << (WIDTH - 1)) - 1
    infinite = magnitude_mask - ((1 << FRACTION) - 1)
    for start in range(program * BLOCK, n, step):
        at = start + tl.arange(0, BLOCK).to(tl.int64)
        inside = at < n
        word = tl.load(bits + at, mask=inside, other=0).to(tl.int64)
        if (
            WIDTH == 16 and FRACTION == 7
        ):  # bfloat16 is the upper half of float32; some conversions lose subnormal numbers
            value = ((word & 0xFFFF) << 16).to(tl.int32).to(tl.float32, bitcast=True).to(tl.float64)
        else:
            value = tl.load(values + at, mask=inside, other=0.0).to(tl.float64)
        magnitude = word & magnitude_mask
        is_nan = inside & (magnitude > infinite)
        is_inf = inside & (magnitude == infinite)
        is_zero = inside & (magnitude == 0)
        finite = inside & (magnitude < infinite)
        nonzero = finite & (magnitude != 0)
        tiny = nonzero & (magnitude < (1 << FRACTION))
        nan += is_nan.to(tl.int64)
        posinf += (is_inf & (word >= 0)).to(tl.int64)
        neginf += (is_inf & (word < 0)).to(tl.int64)
        zero += is_zero.to(tl.int64)
        subnormal += tiny.to(tl.int64)
        size = tl.abs(value)
        low = tl.minimum(low, tl.where(finite, value, float("inf")))
        high = tl.maximum(high, tl.where(finite, value, float("-inf")))
        largest = tl.maximum(largest, tl.where(finite, size, float("-inf")))
        smallest = tl.minimum(smallest, tl.where(nonzero, size, float("inf")))
        kept = tl.where(finite, value, 0.0)
        total += kept
        squares += kept * kept
        bad_at = tl.minimum(bad_at, tl.where(is_nan | is_inf, at, 9223372036854775807))
        # Position of the highest bit of a subnormal number's fraction: exact, since the fraction is an integer below 2^52.
        fraction = tl.where(tiny, magnitude, 1).to(tl.float64).to(tl.int64, bitcast=True)
        highest = (fraction >> 52) - 1023
        exponent = tl.where(tiny, highest, (magnitude >> FRACTION) - 1 + FRACTION)
        tl.atomic_add(exponents + tl.where(nonzero, exponent, 0), 1, mask=nonzero)
    row = counts + program * 5
    tl.store(row, tl.sum(nan))
    tl.store(row + 1, tl.sum(posinf))
    tl.store(row + 2, tl.sum(neginf))
    tl.store(row + 3, tl.sum(zero))
    tl.store(row + 4, tl.sum(subnormal))
    edge = extremes + program * 4
    tl.store(edge, tl.min(low))
    tl.store(edge + 1, tl.max(high))
    tl.store(edge + 2, tl.max(largest))
    tl.store(edge + 3, tl.min(smallest))
    tl.store(sums + program * 2, tl.sum(total))
    tl.store(sums + program * 2 + 1, tl.sum(squares))
    tl.store(first + program, tl.min(bad_at))


def census(tensor: Tensor) -> dict[str, Any] | None:
    """The census of a dense tensor of any shape, as plain data; `None` for a format that has no kernel. Waits for the device,
    where a tensor that is not contiguous is copied first."""
    parts = 2 if tensor.is_complex() else 1
    flat = tensor.detach()
    flat = torch.view_as_real(flat.resolve_conj()) if parts == 2 else flat.resolve_neg()
    form = FORMATS.get(flat.dtype)
    if form is None:
        return None
    flat = flat.contiguous().reshape(-1)
    n = flat.numel()
    if n == 0:
        return {"n": 0, **dict.fromkeys(COUNTS, 0), "sum": 0.0, "sum_squares": 0.0}
    programs = min(triton.cdiv(n, BLOCK), PROGRAMS_MAX)
    width = 8 * flat.element_size()

    def new(*shape: int, dtype: torch.dtype) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=flat.device)

    counts, first = new(programs, 5, dtype=torch.int64), new(programs, dtype=torch.int64)
    extremes, sums = new(programs, 4, dtype=torch.float64), new(programs, 2, dtype=torch.float64)
    # A normal number's exponent field is 1 to 2^(width - 1 - fraction) - 2, and those of subnormal numbers come before.
    exponents = new((1 << (width - 1 - form.fraction)) + form.fraction, dtype=torch.int64)
    _kernel[(programs,)](
        flat, flat.view(form.integer), n, programs * BLOCK, counts, extremes, sums, first, exponents,
        FRACTION=form.fraction, WIDTH=width, BLOCK=BLOCK,
    )  # fmt: skip
    told = torch.stack((sums.sum(0), torch.stack((extremes[:, 0].min(), extremes[:, 1].max())))).flatten()
    edges = torch.stack((*told, extremes[:, 2].max(), extremes[:, 3].min())).tolist()
    whole = torch.cat((counts.sum(0), first.min()[None], exponents)).tolist()
    found: dict[str, Any] = {"n": n, **dict(zip(COUNTS, whole[:5], strict=True))}
    names = ("sum", "sum_squares", "min", "max", "max_abs", "min_abs_nonzero")
    finite = n > sum(whole[:3])
    for name, value in zip(names, edges, strict=True):
        if math.isfinite(value) and (finite or name.startswith("sum")):
            found[name] = value
    if whole[5] < n:
        found["first_bad"] = whole[5] // parts
    histogram = [[form.smallest + k, count] for k, count in enumerate(whole[6:]) if count]
    return {**found, "exponents": histogram} if histogram else found
