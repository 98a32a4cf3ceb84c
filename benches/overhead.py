"""What watching costs: one training step plain, under nanscope and under torch's anomaly mode, side by side.

Interleaved in one process on one thread; the figure is the median over rounds of the ratio to the plain step of the same
round. Usage: `python benches/overhead.py [--rounds 9] [--json PATH]`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from nanscope.watcher import Watcher


class Attention(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.n1, self.attn, self.n2 = nn.LayerNorm(d), Attention(d, heads), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, vocab: int, d: int, depth: int, heads: int, context: int) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(context, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tok(ids) + self.pos.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt() -> Callable[[], None]:
    torch.manual_seed(0)
    model = GPT(1000, 192, 4, 6, 128)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    ids = torch.randint(1000, (4, 129))

    def step() -> None:
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()

    return step


def mlp() -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(), nn.Linear(320, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(128, 128), torch.randint(10, (128,))

    def step() -> None:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def functional() -> Callable[[], None]:
    """No module at all: every operator is a top-level event, the dearest case for the tape."""
    torch.manual_seed(0)
    w = [torch.randn(128, 128).mul_(0.1).requires_grad_() for _ in range(8)]
    optimizer = torch.optim.SGD(w, lr=1e-3)
    x = torch.randn(128, 128)

    def step() -> None:
        h = x
        for layer in w:
            h = torch.tanh(h @ layer)
        loss = h.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return step


MODELS: dict[str, tuple[Callable[[], Callable[[], None]], int, float]] = {
    # name: builder, steps per round, largest allowed ratio
    "gpt": (gpt, 10, 1.03),
    "mlp": (mlp, 200, 1.10),
    "functional": (functional, 100, 1.60),
}


YOUNG = (
    70  # steps after which the watch has learnt; models that are measured over fewer steps are measured while it learns
)


def timed(step: Callable[[], None], steps: int) -> float:
    """Median seconds of one step."""
    found = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def watched(step: Callable[[], None], steps: int) -> float:
    folder = tempfile.mkdtemp()
    watcher = Watcher(script="bench", argv=[], out=f"{folder}/run")
    watcher.start()
    try:
        for _ in range(
            YOUNG if steps > YOUNG else 4
        ):  # at first the watch learns what changes, and looks at every batch
            step()
        return timed(step, steps)
    finally:
        watcher.finish("finished")
        shutil.rmtree(folder)


def anomaly(step: Callable[[], None], steps: int) -> float:
    with torch.autograd.set_detect_anomaly(True):
        return timed(step, steps)


def measure(name: str, rounds: int) -> dict[str, Any]:
    build, steps, limit = MODELS[name]
    step = build()
    timed(step, 3)
    modes: dict[str, Callable[[Callable[[], None], int], float]] = {
        "plain": timed,
        "nanscope": watched,
        "anomaly": anomaly,
    }
    seconds: dict[str, list[float]] = {mode: [] for mode in modes}
    for _ in range(rounds):
        for mode, run in modes.items():
            seconds[mode].append(run(step, steps))
    result: dict[str, Any] = {"model": name, "plain_ms": statistics.median(seconds["plain"]) * 1e3, "limit": limit}
    for mode in ("nanscope", "anomaly"):
        ratios = sorted(a / b for a, b in zip(seconds[mode], seconds["plain"], strict=True))
        result[mode] = statistics.median(ratios)
        result[f"{mode}_spread"] = [ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]]
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json")
    parser.add_argument("models", nargs="*", default=list(MODELS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    print(f"{'model':12} {'plain':>9} {'nanscope':>9} {'quartiles':>15} {'anomaly':>9} {'target':>8}")
    for name in options.models:
        r = measure(name, options.rounds)
        results.append(r)
        low, high = r["nanscope_spread"]
        cells = f"{r['nanscope']:8.3f}x {low:7.3f}-{high:5.3f}x {r['anomaly']:8.3f}x {r['limit']:7.2f}x"
        print(f"{name:12} {r['plain_ms']:7.2f}ms {cells}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
