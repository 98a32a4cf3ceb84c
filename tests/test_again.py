"""The program run again: from the same state, nobody's child, and gone when nanscope is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.launch import watched

NOISE = """
import random

import numpy
import torch

net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
names = {"a", "b", "c", "d", "e"}  # ordered by a hash that differs from process to process
for step in range(6):
    x = torch.tensor(numpy.random.rand(5, 4)).float() + random.random() + len(next(iter(names))) + ord(next(iter(names)))
    loss = net(x).mean() * 1e-3 + (net.weight.sum() * (step != 3)).pow(2).sqrt() * 0.1
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_program_without_a_seed_begins_from_the_same_state(tmp_path: Path) -> None:
    """Random numbers of Python and NumPy, and the hash seed: a fresh process has none of them."""
    proof = watched(tmp_path, NOISE, budget=60).found["fixes"][0]["proof"]
    assert (proof["proved"], proof["healthy_losses"], proof["compared"]) == (True, "identical", 3)


def test_the_copy_is_no_child_of_the_program(tmp_path: Path) -> None:
    program = """
    import os
    import torch
    try:
        os.waitpid(-1, 0)
        print("a child")
    except ChildProcessError:
        print("no child")
    """
    ran = watched(tmp_path, program, budget=60)
    assert (ran.status, ran.out) == (0, "no child\n"), ran


def copies(of: int) -> list[int]:
    """Processes that hold the other end of what a process has open for its copy."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != of:
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"copy-of-test" in line:
                found.append(int(entry.name))
    return found


def gone(pids: list[int]) -> bool:
    """Whether all have ended within some seconds."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if not any(Path(f"/proc/{pid}/exe").exists() and os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_the_copy_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import torch, time\nprint('ready', flush=True)\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "nanscope", "run", "--out", "run", "program.py", "copy-of-test"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        kept = copies(process.pid)
        assert len(kept) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert gone(kept)


def test_files_that_the_program_prints_to_are_not_written_by_a_trial(tmp_path: Path) -> None:
    """What the program prints in a trial is not shown."""
    program = NOISE + "    print('step', step, flush=True)\n"
    ran = watched(tmp_path, program, budget=60)
    assert ran.out.count("step 2\n") == 1 and ran.found["fixes"][0]["proof"]["proved"]
