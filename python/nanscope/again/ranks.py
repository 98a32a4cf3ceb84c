"""All ranks of a job as processes of this machine, each a copy of this one: what a launcher does, within a process group."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable

from nanscope.distributed.peers import stopped

POLL_SECONDS = 0.02
GRACE_SECONDS = 5.0  # from the end of a rank that failed to the end of those that wait for it
KILL_SECONDS = 2.0


def start(world: int, shared: str, rank: Callable[[int], int]) -> None:
    """Runs `rank(0)` to `rank(world - 1)`, each in a process with the environment that torchrun gives, and waits for all. A rank
    that fails, or that has stopped after a trip (see `Peers`; `shared` is where they meet), ends the others."""
    port = free_port()
    running: list[int] = []
    for number in range(world):
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                for name in [name for name in os.environ if name.startswith("TORCHELASTIC_")]:
                    del os.environ[name]  # of the job that this one is run again for
                os.environ.update(environment(number, world, port))
                status = rank(number)
            finally:
                os._exit(status)
        running.append(pid)
    since: float | None = None
    told = 0
    while running:
        for pid in list(running):
            done, code = os.waitpid(pid, os.WNOHANG)
            if done:
                running.remove(pid)
                if code != 0:
                    since = since or time.monotonic()
        if since is None and stopped(shared):
            since = time.monotonic()
        waited = 0.0 if since is None else time.monotonic() - since
        if waited > GRACE_SECONDS + KILL_SECONDS * told and told < 2:
            for pid in running:
                os.kill(pid, signal.SIGKILL if told else signal.SIGTERM)
            told += 1
        time.sleep(POLL_SECONDS)


def environment(rank: int, world: int, port: int) -> dict[str, str]:
    """What torchrun puts into the environment of a rank; rank 0 serves the store at `port`."""
    return {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "GROUP_RANK": "0", "ROLE_RANK": str(rank), "ROLE_NAME": "default",
        "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world), "GROUP_WORLD_SIZE": "1", "ROLE_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
    }  # fmt: skip


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
    return port
