"""What all experiments on one failing step cost: `python -m benches.experiments`.

An encoder with attention, checkpointing and autocast in float16, of about 100 ms a step on two cores; in step 2 the scores of
one layer leave float16.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import nanscope
from nanscope.experiments import bench, conduct

STEPS = 3
BATCH, LENGTH, WIDTH, HEADS, LAYERS = 16, 64, 192, 4, 4


class Block(nn.Module):
    """Attention by torch's own kernel, then by hand, then a feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.gain = 1.0
        self.feed = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(x).view(-1, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        h = F.scaled_dot_product_attention(q, k, v)
        scores = (q * self.gain) @ k.transpose(-2, -1)
        h = h + (scores / self.gain).softmax(-1) @ v
        x = x + h.transpose(1, 2).reshape(x.shape)
        return x + self.feed(x)


class Net(nn.Module):
    """The blocks, each checkpointed."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = nn.Linear(WIDTH, 1)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.last(x).mean((1, 2))


def main() -> None:
    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    times: list[float] = []
    spent: list[tuple[float, Any]] = []
    original = conduct.conduct

    def timed(*args: Any) -> None:
        start = time.perf_counter()
        original(*args)
        spent.append((time.perf_counter() - start, args[-1]))

    replays = [0]
    run = bench.Bench.run

    def counted(self: Any, *args: Any) -> Any:
        replays[0] += 1
        return run(self, *args)

    conduct.conduct, bench.Bench.run = timed, counted  # type: ignore[assignment, method-assign]
    with tempfile.TemporaryDirectory() as folder, nanscope.watch(out=f"{folder}/run", quiet=True) as scope:
        for step in range(STEPS):
            start = time.perf_counter()
            if step == 2:
                model.blocks[2].gain = 1e6  # type: ignore[assignment]
            x = torch.randn(BATCH, LENGTH, WIDTH)
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.mse_loss(model(x).float(), x[:, 0, 0])
            opt.zero_grad()
            loss.backward()
            times.append(time.perf_counter() - start)
            opt.step()
    seconds, diagnosed = spent[0]
    report = scope.report or {}
    print(f"step {statistics.median(times[1:]) * 1e3:.0f} ms, experiments {seconds:.1f} s, {replays[0]} replays")
    print("| change | finite | time | memory |\n|---|---|---:|---:|")
    for tried in report.get("experiments", []):
        ratios = [f"{tried[key]:.2f}" if key in tried else "" for key in ("time_ratio", "memory_ratio")]
        print(f"| {tried['change']} | {'yes' if tried['finite'] else 'no'} | {' | '.join(ratios)} |")
    print(f"island: {report.get('island')}; left out: {diagnosed.outcomes.warnings}")


if __name__ == "__main__":
    main()
