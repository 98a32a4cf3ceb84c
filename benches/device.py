"""What nanscope does and costs where the model lies on a GPU: `python -m benches.device [--device cuda]`, some minutes.

Checks that a bad value is found at its line on the device and that watched training is the same to the bit; times the census
kernel beside a plain read of the same memory, and a watched step beside a plain one, interleaved. `--device cpu` shows without a
GPU that the script works: its kernel is left out there, and its figures mean nothing. Prints one line a result; exits with 1 where
a check fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from benches.models import GPT
from nanscope.watcher import Watcher

SETTLING_STEPS = 80
FAULTY = """
import torch
net = torch.nn.Linear(8, 4).to("DEVICE")
opt = torch.optim.AdamW(net.parameters(), 1e-2)
for step in range(6):
    x = torch.rand(16, 8, device="DEVICE") + 0.1
    if step == 3:
        x[5, 2] = -1
    loss = net(x.log()).square().mean()  # BAD
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def timed(call: Callable[[], Any], device: str, count: int) -> float:
    """Mean seconds of a call over `count`, the device's work included."""
    wait(device)
    start = time.perf_counter()
    for _ in range(count):
        call()
    wait(device)
    return (time.perf_counter() - start) / count


def located(device: str) -> str:
    """A logarithm of a negative number, by the command line as a user has it."""
    code = FAULTY.replace("DEVICE", device)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(code)
        command = [sys.executable, "-m", "nanscope", "run", "--budget", "0", "--json", "-", "program.py"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = json.loads(ran.stdout)
    line = next(number for number, text in enumerate(code.splitlines(), 1) if "# BAD" in text)
    said = (found["verdict"], found["trip"]["step"], found.get("origin", {}).get("line"))
    assert said == ("nonfinite", 3, line), (said, found.get("warnings"))
    return f"located: step 3, line {line}, as it is"


def training(device: str, small: bool) -> Callable[[], None]:
    torch.manual_seed(0)
    model = (GPT(64, 32, 2, 2, 16) if small else GPT(1024, 512, 8, 8, 256)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    ids = torch.randint(0, 64, (2, 16) if small else (16, 256), device=device)

    def step() -> None:
        optimizer.zero_grad()
        out = model(ids)
        F.cross_entropy(out.flatten(0, 1), ids.roll(-1, 1).flatten()).backward()
        optimizer.step()

    step.parameters = list(model.parameters())  # type: ignore[attr-defined]
    return step


def watching(folder: str) -> Watcher:
    watcher = Watcher(script="bench", argv=[], out=folder)
    watcher.start()
    return watcher


def same_bits(device: str) -> str:
    """The same training, plain and watched."""
    digests = []
    for watch in (False, True):
        step = training(device, small=True)
        with tempfile.TemporaryDirectory() as folder:
            watcher = watching(f"{folder}/run") if watch else None
            for _ in range(100):
                step()
            if watcher is not None:
                watcher.finish("finished")
        held = b"".join(p.detach().cpu().numpy().tobytes() for p in step.parameters)  # type: ignore[attr-defined]
        digests.append(hashlib.sha256(held).hexdigest())
    assert digests[0] == digests[1], digests
    return "same bits: 100 steps, plain and watched"


def watched_step(device: str, rounds: int, steps: int) -> str:
    step = training(device, small=device == "cpu")
    timed(step, device, 5)
    ratios, plain = [], []
    for number in range(rounds):
        seconds = {}
        for watch in ((False, True), (True, False))[number % 2]:
            with tempfile.TemporaryDirectory() as folder:
                watcher = watching(f"{folder}/run") if watch else None
                timed(step, device, SETTLING_STEPS if watch else 3)
                seconds[watch] = timed(step, device, steps)
                if watcher is not None:
                    watcher.finish("finished")
        plain.append(seconds[False])
        ratios.append(seconds[True] / seconds[False])
    low, middle, high = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
    return f"step: plain {1e3 * statistics.median(plain):.2f} ms, watched {middle:.3f} of it ({low:.3f} to {high:.3f})"


def kernel(dtype: torch.dtype, mebibytes: int, rounds: int) -> str:
    """The census beside a plain read, which a sum of 64-bit integers is, and beside a copy to the host, which it saves."""
    from nanscope.device.census import census

    x = torch.randn((mebibytes << 20) // dtype.itemsize, device="cuda").to(dtype)
    rivals: dict[str, Callable[[], Any]] = {
        "plain read": lambda: x.view(torch.int64).sum(),
        "census": lambda: census(x),
        "_foreach_norm": lambda: torch._foreach_norm([x])[0].item(),
        "copy to host": x.cpu,
    }
    taken: dict[str, list[float]] = {name: [] for name in rivals}
    for call in rivals.values():
        call()
    for _ in range(rounds):
        for name, call in rivals.items():
            taken[name].append(timed(call, "cuda", 1))
    read = statistics.median(taken["plain read"])
    told = ", ".join(f"{name} {read / statistics.median(seconds):.2f}" for name, seconds in taken.items())
    rate = (mebibytes << 20) / read / 1e9
    return f"census {str(dtype).removeprefix('torch.')} {mebibytes} MiB: {rate:.0f} GB/s read; bandwidth against it: {told}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches.device", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=50, help="of a block")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("expected a GPU that torch can use, got none (torch.cuda.is_available() is False)")
    print(located(options.device), flush=True)
    print(same_bits(options.device), flush=True)
    if options.device == "cuda":
        checks = [sys.executable, "-m", "tests.device_census", "cuda"]
        subprocess.run(checks, check=True)
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            for mebibytes in (64, 1024):
                print(kernel(dtype, mebibytes, options.rounds), flush=True)
    print(watched_step(options.device, options.rounds, options.steps), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
