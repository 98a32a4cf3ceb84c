"""What comparing recomputation with forward costs: `python -m benches.recompute`.

A checkpointed transformer of 12 layers, trained for 1,000 steps plain and under `--check recompute=100`: two processes, ten steps
of one and then of the other in turn, on one thread each.
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
from nanscope.audit import Recomputation

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

    def steps(self, count: int) -> list[float]:
        """Seconds of each of so many steps."""
        seconds = []
        for _ in range(count):
            start = time.perf_counter()
            tokens = self.tokens[self.done % len(self.tokens)]
            loss = nn.functional.cross_entropy(self.model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.done += 1
            seconds.append(time.perf_counter() - start)
        return seconds


def serve(pipe: Any, options: argparse.Namespace, watch: bool) -> None:
    """Trains as many steps as it is told to, and tells the seconds of each; at the end those of each step run again."""
    torch.set_num_threads(1)
    run = Run(options.width, options.length, options.batch)
    spent: list[float] = []
    again = Recomputation._run_again

    def timed(self: Any, *args: Any) -> Any:
        start = time.perf_counter()
        found = again(self, *args)
        spent.append(time.perf_counter() - start)
        return found

    Recomputation._run_again = timed  # type: ignore[method-assign]
    run.steps(3)
    with contextlib.ExitStack() as stack:
        if watch:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            stack.enter_context(nanscope.watch(out=f"{folder}/run", check=f"recompute={EVERY}"))
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
    steps: list[list[float]] = [[], []]
    for _ in range(options.steps // STRETCH):
        for which, end in enumerate(ends):
            end.send(STRETCH)
            steps[which] += end.recv()
    for end in ends:
        end.send(None)
    _, again = (end.recv() for end in ends)
    told(steps[0], steps[1], again)


def told(plain: list[float], watched: list[float], again: list[float]) -> None:
    """The sums are shown too; what else the machine did meanwhile is in them."""
    step = statistics.median(plain)
    starts = range(0, len(plain), STRETCH)
    medians = [[statistics.median(seconds[at : at + STRETCH]) for at in starts] for seconds in (plain, watched)]
    ratio = statistics.median(w / p for p, w in zip(*medians, strict=True))
    live = statistics.median(watched[EVERY::EVERY]) / statistics.median(watched) if len(watched) > EVERY else 1.0
    whole = ratio - 1 + ((live - 1) * (len(watched) // EVERY) + sum(again) / step) / len(watched)
    print(f"plain step {step * 1e3:.1f} ms; {len(watched)} steps, a comparison in each {EVERY}th")
    print(f"watch and check together: {whole:.2%} (sums of all steps: {sum(watched) / sum(plain) - 1:.2%})")
    print(f"  a step without a comparison: ratio {ratio:.4f} (median over pairs of {STRETCH} steps)")
    print(f"  a step compared as it runs: {live:.3f} of one that is not")
    print("  run again: " + ", ".join(f"{one * 1e3:.0f} ms ({one / step:.1f} steps)" for one in again))


if __name__ == "__main__":
    main()
