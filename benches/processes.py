"""Measurements in processes of their own: what one leaves in memory or patched, the next does not meet."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist

RANKS_SECONDS = 120  # that one rank waits for another, at most


def warm() -> None:
    """Imports what a first optimizer step would import. Runs no kernel, so that no thread exists at a fork."""
    import torch._dynamo  # noqa: F401


def forked(call: Callable[..., Any], *arguments: Any) -> Any:
    """What `call` returns, as plain data, in a forked child that has torch already. Raises `RuntimeError` with the child's
    traceback. Not by `multiprocessing`, in whose children some peers refuse to work."""
    warm()
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(read)
        _answer(write, call, arguments)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    answer = json.loads(text) if text else {"error": f"ended without an answer, status {status}"}
    if "error" in answer:
        raise RuntimeError(f"{call.__name__} failed in its process: {answer['error']}")
    return answer["found"]


def _answer(write: int, call: Callable[..., Any], arguments: tuple[Any, ...]) -> NoReturn:
    torch.set_num_threads(1)
    try:
        try:
            answer = {"found": call(*arguments)}
        except Exception:  # noqa: BLE001 - it is raised again in the parent
            answer = {"error": traceback.format_exc()}
        with os.fdopen(write, "w", encoding="utf-8") as pipe:
            json.dump(answer, pipe)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


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
