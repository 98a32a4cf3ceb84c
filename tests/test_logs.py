"""`nanscope logs` on dumps that torch's own flight recorder has written."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys, torch, torch.distributed as dist
from torch._C import _distributed_c10d as c10d
import torch.multiprocessing as mp

def rank(number, store, folder):
    os.environ["TORCH_FR_BUFFER_SIZE"] = "100"
    dist.init_process_group("gloo", init_method="file://" + store, rank=number, world_size=2)
    dist.all_reduce(torch.ones(4))
    group = dist.new_group([0, 1])
    dist.all_reduce(torch.ones(8), group=group)
    dist.barrier()
    for name, ask in (("pickle", c10d._dump_fr_trace), ("json", c10d._dump_fr_trace_json)):
        dump = ask()
        with open(os.path.join(folder, f"{name}_rank_{number}"), "wb") as file:
            file.write(dump if isinstance(dump, bytes) else dump.encode())
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(rank, (os.path.join(sys.argv[1], "store"), sys.argv[1]), nprocs=2)
"""


def test_dumps_of_this_torch_are_read(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, timeout=120)
    for kind in ("pickle", "json"):
        files = [str(tmp_path / f"{kind}_rank_{rank}") for rank in (0, 1)]
        done = subprocess.run(
            [sys.executable, "-m", "nanscope", "logs", "--format", "json", *files],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert [file["kind"] for file in found["files"]] == [kind, kind]
        assert found["findings"] == []


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path) -> None:
    import pickle

    owned = tmp_path / "owned"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            import os

            return os.system, (f"touch {owned}",)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        dump = tmp_path / f"nccl_trace_rank_{protocol}"
        dump.write_bytes(pickle.dumps({"entries": [Trap()]} if protocol > 1 else Trap(), protocol))
        done = subprocess.run(
            [sys.executable, "-m", "nanscope", "logs", str(dump)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, (protocol, done.stdout)
        assert "would import" in done.stderr
        assert "system" in done.stderr
        assert not owned.exists()
