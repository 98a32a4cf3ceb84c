"""What comparing recomputation with forward costs: `python -m benches.recompute`.

A checkpointed transformer of 12 layers, trained for 1,000 steps plain and under `--check recompute=100`, a hundred steps of one
and then of the other in turn, in one process, on one thread. Told: the ratio of the two sums, and the seconds of each comparison
beside those of a plain step.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import nanscope
from nanscope.audit import Audit

EVERY = 100
LAYERS, HEADS, VOCABULARY = 12, 4, 256


class Net(nn.Module):
    """Encoder layers, each checkpointed."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.position = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, HEADS, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True)
            for _ in range(LAYERS)
        )
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens) + self.position
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


class Run:
    """One training, a stretch of steps at a time."""

    def __init__(self, width: int, length: int, batch: int) -> None:
        torch.manual_seed(0)
        self.model = Net(width, length)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.tokens = torch.randint(0, VOCABULARY, (8, batch, length + 1))
        self.done = 0

    def steps(self, count: int) -> float:
        """Seconds that so many steps take."""
        start = time.perf_counter()
        for _ in range(count):
            tokens = self.tokens[self.done % len(self.tokens)]
            loss = nn.functional.cross_entropy(self.model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.done += 1
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    plain, watched = (Run(options.width, options.length, options.batch) for _ in range(2))
    spent: list[float] = []
    compared = Audit._compared

    def timed(self: Any, *args: Any) -> bool:
        start = time.perf_counter()
        found = compared(self, *args)
        spent.append(time.perf_counter() - start)
        return found

    Audit._compared = timed  # type: ignore[method-assign]
    plain.steps(5)
    sums = [0.0, 0.0]
    steps: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.steps // EVERY):
            seconds = plain.steps(EVERY)
            steps.append(seconds / EVERY)
            sums[0] += seconds
            with nanscope.watch(out=f"{folder}/{turn}", check=EVERY):
                sums[1] += watched.steps(EVERY)
    Audit._compared = compared  # type: ignore[method-assign]
    step = statistics.median(steps)
    print(
        f"plain step {step * 1e3:.1f} ms; under the watch, one comparison in {EVERY} steps: ratio {sums[1] / sums[0]:.4f}"
    )
    one = statistics.median(spent)
    print(f"{len(spent)} comparisons, median {one * 1e3:.0f} ms, {one / step:.1f} steps: {one / step / EVERY:.2%}")


if __name__ == "__main__":
    main()
