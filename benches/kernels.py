"""The scans beside torch and numpy on the same memory, and beside a plain read of it.

Interleaved in one process: in each round every function once, in turn; the figures are medians over the rounds. With one thread
the time is that of the processor (other programs may run), with more it is that of the wall clock. Usage:
`python benches/kernels.py [--threads 1 2] [--mebibytes 64 1024] [--dtypes float32 float16] [--rounds 15]`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from nanscope import _core

DTYPES = ["float32", "float16", "bfloat16", "float64", "float8_e4m3fn"]


def numbers(dtype: torch.dtype, size: int) -> torch.Tensor:
    """Normally distributed, `size` bytes in all."""
    count = size // torch.empty((), dtype=dtype).element_size()
    base = torch.randn(min(count, 1 << 20)).to(dtype)
    return base.repeat(count // base.numel())


def rivals(x: torch.Tensor) -> dict[str, Callable[[], object]]:
    """What is measured, by name; a library that cannot do it is absent."""
    found: dict[str, Callable[[], object]] = {
        "plain read": lambda: _core.plain_read(x),
        "all finite": lambda: _core.all_finite([x]),
        "gradient pass": lambda: _core.scan([x]),
        "census": lambda: _core.census(x),
        "digest": lambda: _core.digest(x),
    }
    if x.dtype.itemsize > 1:
        found["torch isfinite"] = lambda: torch.isfinite(x).all().item()
        found["torch _foreach_norm"] = lambda: torch._foreach_norm([x])[0].item()
    if x.dtype in (torch.float64, torch.float32, torch.float16):
        array = x.numpy()
        found["numpy isfinite"] = lambda: bool(np.isfinite(array).all())
    return found


def seconds(x: torch.Tensor, rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Time of each function in each round."""
    functions = rivals(x)
    repeat = max(1, (4 << 20) // (x.numel() * x.element_size()))
    for function in functions.values():
        function()
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = clock()
            for _ in range(repeat):
                function()
            taken[name].append((clock() - start) / repeat)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--mebibytes", type=float, nargs="+", default=[4 / 1024, 1, 64, 1024])
    parser.add_argument("--dtypes", nargs="+", default=DTYPES)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    print("GB/s, and in brackets the median of the ratios to the plain read of the same round\n")
    heads: list[str] = []
    for dtype in args.dtypes:
        for mebibytes in args.mebibytes:
            x = numbers(getattr(torch, dtype), int(mebibytes * 2**20))
            for threads in args.threads:
                torch.set_num_threads(threads)
                taken = seconds(x, args.rounds, time.thread_time if threads == 1 else time.perf_counter)
                if not heads:
                    heads = list(taken)
                    print("| dtype | MiB | threads | load |", " | ".join(heads), "|")
                    print("|---" * (len(heads) + 4) + "|")
                cells = []
                for name in heads:
                    if name not in taken:
                        cells.append("")
                        continue
                    speed = x.numel() * x.element_size() / statistics.median(taken[name]) / 1e9
                    ratio = statistics.median(p / t for p, t in zip(taken["plain read"], taken[name], strict=True))
                    cells.append(f"{speed:.1f} ({ratio:.2f})")
                print(
                    f"| {dtype} | {mebibytes:.4g} | {threads} | {os.getloadavg()[0]:.1f} |",
                    " | ".join(cells),
                    "|",
                    flush=True,
                )


if __name__ == "__main__":
    main()
