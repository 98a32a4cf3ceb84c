"""Watched training is the same to the bit: digests of everything that training changes, watched and plain."""

from __future__ import annotations

import hashlib
import os
import random
from typing import Any

import torch

from benches.models import MODELS, Training, build
from benches.peers import MODES
from benches.processes import forked, on_ranks

STEPS, QUICK_STEPS = 20, 3


def digest(training: Training, losses: list[float]) -> str:
    """Of parameters, gradients, buffers, the optimizer's state, generators, and losses."""
    sha = hashlib.sha256()
    feed(sha, dict(training.model.named_parameters()))
    feed(sha, {name: p.grad for name, p in training.model.named_parameters()})
    feed(sha, dict(training.model.named_buffers()))
    feed(sha, training.optimizer.state_dict())
    feed(sha, torch.get_rng_state())
    sha.update(repr((random.getstate(), losses)).encode())
    return sha.hexdigest()


def feed(sha: Any, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        sha.update(f"{value.dtype}{tuple(value.shape)}".encode())
        sha.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, dict):
        for key, inner in value.items():
            sha.update(str(key).encode())
            feed(sha, inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            feed(sha, inner)
    else:
        sha.update(repr(value).encode())


def trained(name: str, mode: str, steps: int, small: bool, part: tuple[int, int, str] | None = None) -> str:
    """Digest after so many steps."""
    random.seed(0)
    training = build(name, small)
    training.part = part
    with MODES[mode].around(training) as step:
        losses = [step() for _ in range(steps)]
    return digest(training, losses)


def trained_rank(rank: int, folder: str, name: str, steps: int, small: bool) -> dict[str, str]:
    part = (rank, 2, os.getcwd())
    return {mode: trained(name, mode, steps, small, part) for mode in ("plain", "nanscope")}


def compared(name: str, steps: int, small: bool) -> dict[str, Any]:
    """The digest of each mode; on several ranks those of all."""
    if MODELS[name].ranks > 1:
        ranks = on_ranks(trained_rank, name, steps, small)
        return {mode: [rank[mode] for rank in ranks] for mode in ("plain", "nanscope")}
    return {mode: [forked(trained, name, mode, steps, small)] for mode in ("plain", "nanscope")}


def run(models: list[str], quick: bool) -> dict[str, Any]:
    steps = QUICK_STEPS if quick else STEPS
    found = {}
    for name in models:
        digests = compared(name, steps, quick)
        found[name] = {"steps": steps, "identical": digests["plain"] == digests["nanscope"]}
        print(f"  {name:9} {'identical' if found[name]['identical'] else 'DIFFERENT'}", flush=True)
    return found
