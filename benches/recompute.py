"""What comparing recomputation with forward costs: `python -m benches.recompute`.

A checkpointed transformer of 12 layers, trained for 1,000 steps plain and under `--check recompute=100`: two processes, ten steps
of one and then of the other in turn, on one thread each. Told: the ratio of the two sums, and how long a step takes that is run
again.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import statistics
import tempfile
import time
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import nanscope
from nanscope.audit import Audit

EVERY, STRETCH = 100, 10
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


def serve(pipe: Any, options: argparse.Namespace, watch: bool) -> None:
    """Trains as many steps as it is told to, and tells the seconds; at the end those of each comparison."""
    torch.set_num_threads(1)
    run = Run(options.width, options.length, options.batch)
    spent: list[float] = []
    again = Audit._compared

    def timed(self: Any, *args: Any) -> bool:
        start = time.perf_counter()
        found = again(self, *args)
        spent.append(time.perf_counter() - start)
        return found

    Audit._compared = timed  # type: ignore[method-assign]
    run.steps(3)
    with contextlib.ExitStack() as stack:
        if watch:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            stack.enter_context(nanscope.watch(out=f"{folder}/run", check=EVERY))
        while (count := pipe.recv()) is not None:
            pipe.send(run.steps(count))
    pipe.send(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=4)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ends = []
    for watch in (False, True):
        ours, theirs = context.Pipe()
        context.Process(target=serve, args=(theirs, options, watch), daemon=True).start()
        ends.append(ours)
    sums, steps = [0.0, 0.0], []
    for _ in range(options.steps // STRETCH):
        for which, end in enumerate(ends):
            end.send(STRETCH)
            seconds = end.recv()
            sums[which] += seconds
            if which == 0:
                steps.append(seconds / STRETCH)
    for end in ends:
        end.send(None)
    _, spent = (end.recv() for end in ends)
    step = statistics.median(steps)
    print(
        f"plain step {step * 1e3:.1f} ms; {options.steps} steps, a comparison in each {EVERY}th: ratio {sums[1] / sums[0]:.4f}"
    )
    times = ", ".join(f"{one * 1e3:.0f} ms ({one / step:.1f} steps)" for one in spent)
    print(f"run again for it: {len(spent)} times: {times}; otherwise compared as the program ran")


if __name__ == "__main__":
    main()
