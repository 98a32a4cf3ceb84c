"""A long run: the cheapest training step there is, watched; how memory, run folder and `explain` grow with its steps."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benches.processes import forked
from benches.table import timed

STEPS, QUICK_STEPS = 1_000_000, 5_000
EXPLAINED = 3  # times


def resident_mib() -> float:
    """What of this process is in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def trained(folder: str, steps: int) -> dict[str, Any]:
    """Trains one small layer; memory, folder and time per step at 1e3, 1e4, ... steps."""
    from nanscope.watcher import Watcher

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    # Of several batches, whose targets are noise: on one batch the gradient would soon be 0, which is an alarm.
    turn = itertools.cycle([(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(8)])

    def step() -> None:
        x, y = next(turn)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    plain = timed(step, 2000)
    marks = [10**power for power in range(3, 9) if 10**power < steps] + [steps]
    found = []
    watcher = Watcher(script="bench", argv=[], out=folder)
    watcher.start()
    try:
        done, since = 0, time.perf_counter()
        for mark in marks:
            before = done
            while done < mark:
                step()
                done += 1
            now = time.perf_counter()
            found.append({"steps": done, "us": 1e6 * (now - since) / (done - before), "mib": resident_mib()})
            print(f"  {done} steps: {found[-1]['us']:.0f} us each, {found[-1]['mib']:.1f} MiB", flush=True)
            since = now
    finally:
        watcher.finish("finished")
    return {"plain_us": 1e6 * plain, "marks": found, "verdict": (watcher.report or {}).get("verdict", "finite")}


def explained(folder: str) -> dict[str, float]:
    """Median seconds and the peak memory of `nanscope explain`."""
    command = [sys.executable, "-m", "nanscope", "explain", folder]
    seconds, peak = [], 0.0
    for _ in range(EXPLAINED):
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds.append(time.perf_counter() - start)
        if child.returncode not in (0, 1):
            raise RuntimeError(f"explain: expected status 0 or 1, got {child.returncode}")
        peak = max(peak, usage.ru_maxrss / 1024)
    return {"seconds": statistics.median(seconds), "peak_mib": peak}


def run(models: list[str], quick: bool) -> dict[str, Any]:
    steps = QUICK_STEPS if quick else STEPS
    with tempfile.TemporaryDirectory() as outer:
        folder = f"{outer}/run"
        start = time.perf_counter()
        found = forked(trained, folder, steps)
        found["seconds"] = time.perf_counter() - start
        found["folder_mb"] = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
        found["explain"] = explained(folder)
    first, last = found["marks"][0], found["marks"][-1]
    print(
        f"  {last['steps']} steps in {found['seconds']:.0f} s; memory {first['mib']:.1f} to {last['mib']:.1f} MiB;"
        f" folder {found['folder_mb']:.1f} MB; explain {found['explain']['seconds']:.2f} s",
        flush=True,
    )
    return found
