"""Measurements in processes of their own: what one leaves in memory or patched, the next does not meet."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import socket
import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

RANKS_SECONDS = 120  # that one rank waits for another, at most


def forked(call: Callable[..., Any], *arguments: Any) -> Any:
    """What `call` returns, in a forked child: torch is imported already. Raises `RuntimeError` with the child's traceback."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(theirs, call, arguments))
    child.start()
    theirs.close()
    try:
        well, answer = ours.recv()
    except EOFError:
        well, answer = False, "the process ended without an answer"
    child.join()
    if not well:
        raise RuntimeError(f"{call.__name__} failed in its process (status {child.exitcode}): {answer}")
    return answer


def _answer(pipe: Any, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    try:
        pipe.send((True, call(*arguments)))
    except Exception:  # noqa: BLE001 - it is raised again in the parent
        pipe.send((False, traceback.format_exc()))
    pipe.close()


def peak_mib() -> float:
    """Largest resident memory of this process since it was forked."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def on_ranks(call: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What `call(rank, shared folder, *arguments)` returns on each of two ranks over gloo, as plain data."""
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        start = torch.multiprocessing.start_processes
        start(_rank, (port, folder, call, arguments), 2, start_method="spawn")
        return [json.loads(Path(folder, f"answer-{rank}.json").read_text()) for rank in range(2)]


def _rank(rank: int, port: int, folder: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2, timeout=timedelta(seconds=RANKS_SECONDS))
    answer = call(rank, folder, *arguments)
    Path(folder, f"answer-{rank}.json").write_text(json.dumps(answer))
    dist.destroy_process_group()
