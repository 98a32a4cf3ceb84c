"""What watching two ranks costs: steps of a DDP model under nanscope beside plain ones, in the same two processes.

One thread a rank, gloo. Both ranks switch between plain and watched steps together, in blocks; the figure is the median over rounds
of the ratio of a round's watched to its plain median step, on the slower rank. Usage: `python -m benches.ranks [--rounds 9] [--json
PATH]`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from benches.models import GPT
from benches.processes import on_ranks
from nanscope.watcher import Watcher

SETTLING_STEPS = 12  # of a watch, not measured: the first steps learn, and are compared one by one
EVERY = 100


def measured(rank: int, folder: str, rounds: int, steps: int, made: str) -> dict[str, Any]:
    torch.manual_seed(0)
    step = MODELS[made]()
    for _ in range(5):
        step()
    plain, watched = [], []
    for number in range(rounds):
        for watch in ((False, True), (True, False))[number % 2]:
            dist.barrier()
            if not watch:
                plain.append(timed(step, steps))
                continue
            watcher = Watcher(script="bench", argv=[], out=f"{folder}/{number}", part=(rank, 2, os.getcwd()))
            watcher.start()
            for _ in range(SETTLING_STEPS):
                step()
            watched.append(timed(step, steps))
            watcher.finish("finished")
    ratios = [w / p for w, p in zip(watched, plain, strict=True)]
    return {"plain": statistics.median(plain), "ratios": ratios}


def timed(step: Any, count: int) -> float:
    """Mean seconds of a step over `count`: a comparison that lies among them counts."""
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


def trained(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Any:
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        out = model(x)
        F.cross_entropy(out.reshape(-1, out.shape[-1]), y.reshape(-1)).backward()
        optimizer.step()

    return step


def gpt() -> Any:
    ids = torch.randint(0, 256, (4, 64))
    return trained(GPT(256, 192, 4, 6, 64), ids, ids.roll(-1, 1))


def mlp() -> Any:
    net = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return trained(net, torch.randn(256, 128), torch.randint(0, 10, (256,)))


MODELS = {"gpt": gpt, "mlp": mlp}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument(
        "--steps", type=int, default=EVERY, help="of a block; with fewer than 100 no late comparison"
    )
    arguments.add_argument("--model", choices=MODELS, action="append", help="one of them only")
    arguments.add_argument("--json")
    options = arguments.parse_args()
    figures = {}
    for name in options.model or MODELS:
        ranks = on_ranks(measured, options.rounds, options.steps, name)
        slower = max(ranks, key=lambda rank: statistics.median(rank["ratios"]))
        quartiles = statistics.quantiles(slower["ratios"], n=4) if options.rounds > 1 else slower["ratios"] * 3
        figures[name] = {"plain_ms": 1e3 * slower["plain"], "ratio": quartiles[1], "quartiles": quartiles}
        print(
            f"{name:5} plain {1e3 * slower['plain']:7.2f} ms   watched {quartiles[1]:.3f} of it"
            f" ({quartiles[0]:.3f} to {quartiles[2]:.3f})",
            flush=True,
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
