"""The census kernel for GPUs, in Triton's interpreter, beside the definition in Rust: a process of its own, since Triton reads
`TRITON_INTERPRET` when it is imported first. Prints the name of each check that has passed."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import torch

from nanscope import _core
from nanscope.device.census import census

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"  # "cuda" where there is one, without the interpreter
FORMATS = ("float16", "bfloat16", "float32", "float64", "complex64")


def both(tensor: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the kernel finds, and what is right."""
    found = census(tensor.to(DEVICE))
    right = _core.census(tensor)
    assert found is not None and right is not None
    return json.loads(json.dumps(found)), json.loads(right)


def same(tensor: Any) -> None:
    found, right = both(tensor)
    sums = {name: (found.pop(name, None), right.pop(name, None)) for name in ("sum", "sum_squares")}
    assert found == right, {
        key: (found.get(key), right.get(key)) for key in {*found, *right} if found.get(key) != right.get(key)
    }
    scale = math.sqrt(tensor.numel()) + 1
    for name, (a, b) in sums.items():
        assert (a is None) == (b is None), (name, a, b)
        if a is not None and b is not None:  # in another order, and of 16-bit formats in another width
            assert math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-5 * scale * max(right.get("max_abs") or 0.0, 1e-300)), (
                name,
                a,
                b,
            )


def every_kind_of_number(dtype: str) -> None:
    form = getattr(torch, dtype)
    real = form.to_real() if form.is_complex else form
    tiny = torch.finfo(real)
    draws = torch.Generator().manual_seed(0)
    for size in (1, 2, 5, 1023, 1024, 1025, 4099):
        exponents = torch.randint(-20, 20, (size,), generator=draws).double()
        values = (torch.randn(size, generator=draws, dtype=torch.float64) * 2**exponents).to(real)
        special = [
            0.0,
            -0.0,
            math.nan,
            math.inf,
            -math.inf,
            tiny.smallest_normal,
            -tiny.smallest_normal / 2,
            tiny.max,
            tiny.min,
        ]
        for value in special:
            if size > 4:
                at = torch.randint(size, (1 + size // 50,), generator=draws)
                values[at] = torch.tensor(value, dtype=torch.float64).to(real)
        if form.is_complex:
            values = torch.complex(values, values.flip(0))
        same(values)


def every_number_of_sixteen_bits(dtype: str) -> None:
    codes = torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(getattr(torch, dtype))
    same(codes)


def shapes_and_strides() -> None:
    x = torch.randn(6, 7, 5, generator=torch.Generator().manual_seed(1))
    x[3, 2, 1] = math.nan
    for view in (x, x.transpose(0, 2), x[::2, 1:], x[:0], x[1, 1, 1], x[:, :, :1].expand(6, 7, 4)):
        same(view)


def every_exponent() -> None:
    for dtype, lowest, highest in ((torch.float32, -149, 128), (torch.float64, -1074, 1024)):
        same(torch.tensor([math.ldexp(1.0, at) for at in range(lowest, highest)], dtype=torch.float64).to(dtype))


def formats_without_a_kernel() -> None:
    assert census(torch.zeros(3).to(torch.float8_e5m2)) is None
    assert census(torch.zeros(3, dtype=torch.int32)) is None


CHECKS = [
    *[(every_kind_of_number, name) for name in FORMATS],
    *[(every_number_of_sixteen_bits, name) for name in ("float16", "bfloat16")],
    (shapes_and_strides,),
    (every_exponent,),
    (formats_without_a_kernel,),
]


if __name__ == "__main__":
    for check, *given in CHECKS:
        check(*given)
        print(check.__name__, *given, flush=True)
