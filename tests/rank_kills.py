"""Ranks that are killed, frozen or that raise at a random moment: `python -m tests.rank_kills 50`.

Every run must end within the limits that it has, and leave a run folder that every format can be made of.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

from tests.corpus_board import warm
from tests.launch import Running, explained

COLLECTIVE_SECONDS = 4  # the program's own limit of a collective
LIMIT_SECONDS = 40.0  # for the whole run after the kill: that limit, and those of nanscope as they are set below
WAYS = ("kill", "freeze", "raise")

PROGRAM = textwrap.dedent("""
    import datetime, os, signal, socket, sys, time
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch.nn.parallel import DistributedDataParallel

    def main(rank, port, bad):
        def hit(*_):
            raise RuntimeError("hit")
        signal.signal(signal.SIGUSR1, hit)
        print(f"rank {rank} is {os.getpid()}", flush=True)
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        limit = datetime.timedelta(seconds=COLLECTIVE)
        dist.init_process_group("gloo", rank=rank, world_size=2, timeout=limit)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        net = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2)))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(10**6):
            x = torch.rand(16, 8) + 0.1
            if rank == step % 2 and step == bad:
                x[3, 2] = -1
            loss = net(x.log()).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if rank == 0 and step % 10 == 0:
                print("step", step, flush=True)
            time.sleep(0.001)

    if __name__ == "__main__":
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.start_processes(main, (port, int(sys.argv[1])), 2, start_method="fork")
""").replace("COLLECTIVE", str(COLLECTIVE_SECONDS))


@dataclass(frozen=True)
class Hit:
    """What one run showed. `seconds` from the kill to the end; `problem` is absent where all was well."""

    seed: int
    way: str
    rank: int
    moment: str
    seconds: float
    verdict: str
    problem: str | None

    def line(self) -> str:
        """For a table."""
        told = f"{self.seed:3} {self.way:6} rank {self.rank} {self.moment:32} {self.seconds:6.1f} s  {self.verdict}"
        return told if self.problem is None else f"{told}  {self.problem}"


def limits() -> None:
    """nanscope waits less here than for people; who is started from here waits as long."""
    from nanscope.distributed import children, peers
    from nanscope.replay import comm

    peers.LEAVE_SECONDS, peers.MEET_SECONDS = 8.0, 1.0
    children.GRACE_SECONDS, children.KILL_SECONDS = 3.0, 2.0
    comm.TIMEOUT_MILLIS = 1000 * COLLECTIVE_SECONDS


def hit(folder: Path, seed: int) -> Hit:
    """One run, a rank of which is hit at a moment that `seed` chooses: while it trains, or around a trip."""
    chance = random.Random(seed)
    way, rank = WAYS[seed % len(WAYS)], chance.randrange(2)
    around = seed % 2 == 1
    bad = chance.randrange(20, 120) if around else -1
    after, delay = (
        (bad - bad % 10, chance.random() * 0.4) if around else (chance.randrange(0, 200), chance.random() * 0.05)
    )
    limits()
    running = Running(folder, PROGRAM, bad)
    # The moment of a trip may come before the step is printed.
    running.wait_for(lambda out: f"step {after - after % 10}\n" in out or (around and f"step {after - 10}\n" in out))
    pids = dict(re.findall(r"rank (\d) is (\d+)", (folder / "stdout").read_text()))
    time.sleep(delay)
    number = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP, "raise": signal.SIGUSR1}[way]
    moment = f"around the trip of step {bad}" if around else f"after step {after}"
    try:
        os.kill(int(pids[str(rank)]), number)
    except ProcessLookupError:
        moment += ", it had ended"
    start = time.monotonic()
    problem = None
    while not running._over():
        if time.monotonic() - start > LIMIT_SECONDS:
            problem = f"still there after {LIMIT_SECONDS:.0f} s"
            os.killpg(running.pid, signal.SIGKILL)
            break
        time.sleep(0.02)
    running.ended()
    seconds = time.monotonic() - start
    if problem is not None:
        return Hit(seed, way, rank, moment, seconds, "", problem)
    try:
        report = explained(folder)
        left = [pid for pid in pids.values() if os.path.exists(f"/proc/{pid}/cwd")]
        if (
            not left
            and report["run"]["steps"]
            and (report["verdict"] != "finite" or report.get("ranks") or report["warnings"])
        ):
            told = ", ".join(f"{r['rank']} {r['role']}" for r in report.get("ranks", []))
            return Hit(seed, way, rank, moment, seconds, f"{report['verdict']} ({told})", None)
        problem = f"left behind: {left}" if left else f"the report says nothing: {report}"
    except (AssertionError, OSError, KeyError) as error:
        problem = f"{type(error).__name__}: {error}"
    return Hit(seed, way, rank, moment, seconds, "", problem)


def main(count: int) -> int:
    """Runs `count` of them and prints a line each; the status is 1 if one of them was not well."""
    warm.warm()
    found = []
    with tempfile.TemporaryDirectory(prefix="rank-kills-") as place:
        for seed in range(count):
            found.append(hit(Path(place) / str(seed), seed))
            print(found[-1].line(), flush=True)
    bad = [one for one in found if one.problem is not None]
    slowest = max(one.seconds for one in found)
    print(f"{len(found) - len(bad)} of {len(found)} ended and left a report; the slowest took {slowest:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
