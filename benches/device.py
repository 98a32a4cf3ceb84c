"""What nanscope does and costs where the model lies on a GPU: `python -m benches.device [--device cuda]`, some minutes.

Checks that a bad value is found at its line on the device, that its update is not made (with a fused optimizer the device itself
leaves it out, and nobody waits), that watched training is the same to the bit, with a `GradScaler` too, and that a CUDA graph can
be captured under a watch; times the census kernel beside a plain read of the same memory, a watched step beside a plain one,
interleaved, and a replay. `--device cpu` shows without a
GPU that the script works: its kernel is left out there, and its figures mean nothing. Prints one line a result; exits with 1 where
a check fails.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn import functional as F

from benches.models import GPT
from nanscope.watcher import Watcher

SETTLING_STEPS = 80
FAULTY = """
import torch
net = torch.nn.Linear(8, 4).to("DEVICE")
opt = torch.optim.AdamW(net.parameters(), 1e-2, fused=FUSED)
for step in range(100):
    x = torch.rand(16, 8, device="DEVICE") + 0.1
    if step == STEP:
        x[5, 2] = -1
    loss = net(x.log()).square().mean()  # BAD
    opt.zero_grad()
    loss.backward()
    before = net.weight.detach().clone()
    opt.step()
    if step == STEP:
        print(torch.equal(before, net.weight), flush=True)
"""
CAPTURED = """
import torch
net = torch.nn.Linear(8, 4).cuda()
opt = torch.optim.AdamW(net.parameters(), 1e-2, capturable=True)
x = torch.rand(16, 8, device="cuda")
def step():
    opt.zero_grad(set_to_none=True)
    net(x).square().mean().backward()
    opt.step()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(80):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
for _ in range(20):
    graph.replay()
print(*(p.sum().item().hex() for p in net.parameters()))
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


def ran(code: str, *command: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(code)
        whole = [sys.executable, *command, "program.py"]
        return subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)


def located(device: str, step: int, fused: bool) -> str:
    """A logarithm of a negative number, by the command line as a user has it."""
    code = FAULTY.replace("DEVICE", device).replace("STEP", str(step)).replace("FUSED", str(fused))
    done = ran(code, "-m", "nanscope", "run", "--budget", "0", "--json", "-")
    lines = done.stdout.splitlines()
    found = json.loads("\n".join(line for line in lines if line not in ("True", "False")))
    line = next(number for number, text in enumerate(code.splitlines(), 1) if "# BAD" in text)
    said = (found["verdict"], found["trip"]["step"], found.get("origin", {}).get("line"))
    assert said == ("nonfinite", step, line), (said, found.get("warnings"))
    assert "False" not in lines, "the bad update was made"
    later = "a step later, the update left out by the device" if lines[0] == "True" else "before the update"
    return f"located: step {step}, line {line}, as it is; fused={fused}: {later}"


def captured() -> str:
    alone, watched = ran(CAPTURED), ran(CAPTURED, "-m", "nanscope", "run")
    assert alone.returncode == watched.returncode == 0, (alone.stderr, watched.stderr)
    assert watched.stdout.startswith(alone.stdout), (alone.stdout, watched.stdout)
    assert "a CUDA graph was captured" in watched.stderr, watched.stderr
    return "a CUDA graph: captured and replayed under a watch, the same bits"


def training(device: str, small: bool, fused: bool = False, scaler: bool = False) -> Callable[[], None]:
    torch.manual_seed(0)
    model = (GPT(64, 32, 2, 2, 16) if small else GPT(1024, 512, 8, 8, 256)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=fused)
    scale = torch.amp.GradScaler(device, init_scale=2.0**30, growth_interval=20, enabled=scaler)
    ids = torch.randint(0, 64, (2, 16) if small else (16, 256), device=device)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(device, torch.float16, enabled=scaler):
            out = model(ids)
            loss = F.cross_entropy(out.flatten(0, 1), ids.roll(-1, 1).flatten())
        scale.scale(loss).backward()
        scale.step(optimizer)
        scale.update()

    step.model, step.parameters = model, list(model.parameters())  # type: ignore[attr-defined]
    return step


def replayed(device: str) -> str:
    """From the trip to the located origin, of the larger model."""
    from benches.trip import tripped

    step = training(device, small=device == "cpu")
    model = step.model  # type: ignore[attr-defined]
    inner = SimpleNamespace(step=step, part=None, middle=model.blocks[1].mlp)
    with tempfile.TemporaryDirectory() as folder:
        found = tripped(inner, folder, 0.0)  # type: ignore[arg-type]
    assert found["right"], found
    plain = 1e3 * found["plain"]
    return (
        f"replay: {found['operators']} operators located in {found['located']:.2f} s, a plain step takes {plain:.1f} ms"
    )


def watching(folder: str) -> Watcher:
    watcher = Watcher(script="bench", argv=[], out=folder)
    watcher.start()
    return watcher


def same_bits(device: str, fused: bool, scaler: bool) -> str:
    """The same training, plain and watched."""
    digests = []
    for watch in (False, True):
        step = training(device, small=True, fused=fused, scaler=scaler)
        with tempfile.TemporaryDirectory() as folder:
            watcher = watching(f"{folder}/run") if watch else None
            for _ in range(100):
                step()
            if watcher is not None:
                watcher.finish("finished")
        held = b"".join(p.detach().cpu().numpy().tobytes() for p in step.parameters)  # type: ignore[attr-defined]
        digests.append(hashlib.sha256(held).hexdigest())
    assert digests[0] == digests[1], digests
    return f"same bits: 100 steps, plain and watched; fused={fused}, scaler={scaler}"


def watched_step(device: str, rounds: int, steps: int, fused: bool) -> str:
    step = training(device, small=device == "cpu", fused=fused)
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
    usual = 1e3 * statistics.median(plain)
    return f"step: fused={fused}: plain {usual:.2f} ms, watched {middle:.3f} of it ({low:.3f} to {high:.3f})"


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
    for step, fused in ((3, False), (90, False), (3, True), (90, True)):
        print(located(options.device, step, fused), flush=True)
    for fused, scaler in itertools.product((False, True), repeat=2):
        print(same_bits(options.device, fused, scaler), flush=True)
    if options.device == "cuda":
        print(captured(), flush=True)
        checks = [sys.executable, "-m", "tests.device_census", "cuda"]
        subprocess.run(checks, check=True)
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            for mebibytes in (64, 1024):
                print(kernel(dtype, mebibytes, options.rounds), flush=True)
    print(replayed(options.device), flush=True)
    for fused in (False, True):
        print(watched_step(options.device, options.rounds, options.steps, fused), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
