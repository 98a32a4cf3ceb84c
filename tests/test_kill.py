"""`kill -9` at any moment: what was written before it can be read."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nanscope import _core
from tests.launch import PROGRAMS, Running, explained, placed

ENDLESS = f"import sys\nsys.path.insert(0, {str(PROGRAMS)!r})\nfrom training import train\ntrain(10**9)\n"
FAULTY = f"import sys\nsys.path.insert(0, {str(PROGRAMS)!r})\nfrom training import train\ntrain(10**9, bad=int(sys.argv[1]))\n"


def steps(out: str) -> int:
    return out.count("step ")


def test_a_process_of_its_own(tmp_path: Path) -> None:
    """As a person would: a console command, killed from outside once a few steps are done."""
    placed(tmp_path, ENDLESS)
    out = tmp_path / "out"
    with open(out, "w") as file:
        command = [str(Path(sys.executable).parent / "nanscope"), "run", "--out", "run", "program.py"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=file, stderr=subprocess.STDOUT, env={**os.environ})
        while steps(out.read_text()) < 30:
            assert process.poll() is None, out.read_text()
        process.kill()
        assert process.wait() == -signal.SIGKILL
    report = explained(tmp_path)
    assert report["verdict"] == "finite"
    assert 0 < report["run"]["steps"] <= steps(out.read_text()) + 1


@pytest.mark.parametrize("seed", range(5))
def test_at_a_random_step(tmp_path: Path, seed: int) -> None:
    after = random.Random(seed).randrange(1, 400)
    running = Running(tmp_path, ENDLESS)
    running.wait_for(lambda out: steps(out) >= after)
    assert running.kill() == -signal.SIGKILL
    printed = steps((tmp_path / "stdout").read_text())
    report = explained(tmp_path)
    assert report["verdict"] == "finite"
    assert report["run"].get("steps", 0) <= printed + 1
    assert "killed" in " ".join(report["warnings"]) or "end" in " ".join(report["warnings"]), report["warnings"]


@pytest.mark.parametrize("seed", range(5))
def test_around_a_trip(tmp_path: Path, seed: int) -> None:
    """Killed while the bad step is replayed or the report is written: whatever is there can be read."""
    chance = random.Random(seed)
    bad, spins = chance.randrange(1, 40), chance.randrange(1, 1_000_000)
    running = Running(tmp_path, FAULTY, bad)
    running.wait_for(lambda out: steps(out) >= bad)
    for _ in range(spins):  # a moment that no clock decides
        pass
    status = running.kill()
    assert status in (-signal.SIGKILL, 1)
    report = explained(tmp_path)
    assert report["verdict"] in ("finite", "nonfinite")
    if report["verdict"] == "nonfinite":
        assert report["trip"]["step"] == bad


def test_log_cut_at_every_byte(tmp_path: Path) -> None:
    """A kill leaves a prefix of the log; each prefix can be explained or is refused in one line, and none loses earlier steps."""
    running = Running(tmp_path, FAULTY.replace("10**9", "6"), 3)
    assert running.ended() == 1
    log = (tmp_path / "run" / "rank-0.log").read_bytes()
    cut = tmp_path / "cut"
    cut.mkdir()
    chance = random.Random(0)
    ends = sorted({0, 1, 7, 8, 9, len(log) - 1, *(chance.randrange(len(log)) for _ in range(60))})
    sink = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1), os.dup(2)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    try:
        statuses = []
        for end in ends:
            (cut / "rank-0.log").write_bytes(log[:end])
            statuses.append(_core.main(["nanscope", "explain", str(cut)]))
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for fd in (sink, *kept):
            os.close(fd)
    told = [end for end, status in zip(ends, statuses, strict=True) if status == 0]
    assert set(statuses) <= {0, 1, 2}
    assert told, "no prefix could be explained"
    assert all(status == 0 for end, status in zip(ends, statuses, strict=True) if end >= told[0])
    assert told[0] < len(log) // 4
