"""A job that a launcher has started (torchrun and its like): one watched process per rank, which knows its place from the
environment."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from typing import Any

from nanscope.distributed.healing import Whole
from nanscope.distributed.peers import Peers

AGREE_SECONDS = 60.0  # for rank 0 to say where the run folder is
END_SECONDS = 30.0  # for the other ranks to end after rank 0, and for the report to be written
LAUNCHED = "NANSCOPE_LAUNCHED"  # set for ranks whose launcher is nanscope itself: it tells what was found


def place() -> tuple[int, int] | None:
    """Rank and number of ranks, for a process that a launcher has started as one of several."""
    try:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return None
    return (rank, world) if world > 1 else None


def folder(out: str | None, fresh: str) -> str:
    """The run folder that all ranks write to: `out`, or the one that rank 0 has chosen, `fresh` being this rank's choice."""
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if out is not None:
        return out if restart == "0" else f"{out}-restart-{restart}"
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return _by_store(fresh, f"nanscope/{os.environ.get('TORCHELASTIC_RUN_ID', '')}/{restart}")
    # Without a store before the program makes one: what all ranks of one machine have in common.
    stem = fresh.rsplit("-", 1)[-1]
    return os.path.join("nanscope-runs", f"{stem}-{os.environ.get('MASTER_PORT', '0')}-{os.getppid()}")


def whole(spec: dict[str, Any], out: str, budget: float) -> Whole | None:
    """How one rank runs the whole job again; `None` where some of its ranks are on other machines."""
    world = os.environ["WORLD_SIZE"]
    if os.environ.get("LOCAL_WORLD_SIZE", world) != world:
        return None
    return Whole({**spec, "launched": int(world)}, os.path.abspath(out), out, budget, dict(os.environ))


def _by_store(fresh: str, key: str) -> str:
    from datetime import timedelta

    import torch.distributed

    home: Any = torch.distributed
    store = home.TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=False,
        timeout=timedelta(seconds=AGREE_SECONDS),
    )
    if os.environ["RANK"] == "0":
        store.set(key, os.path.abspath(fresh))
    chosen = str(store.get(key).decode())
    here = os.getcwd() + os.sep
    return chosen.removeprefix(here)


def told_here(watcher: Any) -> bool:
    """The end of a rank: whether it is the one that tells what all have found. It waits for the others then; where another
    tells, it waits for that."""
    rank, world = watcher.run_folder.rank, watcher.run_folder.info["world_size"]
    peers = watcher.peers or Peers(watcher.run_folder.shared, rank, world)
    peers.post_end()
    if os.environ.get(LAUNCHED):
        return False
    tripped = sorted({*peers.others_tripped(), *([rank] if watcher.tripped else [])})
    teller = tripped[0] if tripped else 0
    if rank == teller:
        # Ranks that wait for one that has stopped do not end by themselves; where it went on, all do.
        peers.wait_for_ends(tripped if watcher.stopped else list(range(world)), END_SECONDS)
        return True
    if tripped:
        peers.wait_for_report(END_SECONDS)
    return False


def wait_or_end(process: Any, shared: str, grace: float, kill: float) -> int:
    """Waits for a launcher; ends it when ranks still wait for one that has stopped `grace` seconds ago."""
    from nanscope.distributed.peers import stopped

    since: float | None = None
    while process.poll() is None:
        time.sleep(0.1)
        if since is None and stopped(shared):
            since = time.monotonic()
        if since is not None and time.monotonic() - since > grace:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(kill)
            process.kill()
    return int(process.returncode)
