"""Recomputation beside forward on two ranks: nothing is run again while all is well, and a difference is told with its operator."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch import line_of, plain, watched

PROGRAM = """
import os, socket
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)
    def block(self, x):
        return nn.functional.dropout(torch.tanh(self.first(x)), 0.5)
    def forward(self, x):
        return self.last(checkpoint(self.block, x, use_reentrant=False, preserve_rng_state=KEPT))  # BAD

def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = DistributedDataParallel(Net())
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(6):
        loss = net(torch.randn(16, 4)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print([p.sum().item().hex() for p in net.parameters()], flush=True)

if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
"""


@pytest.mark.parametrize("options", [(), ("--check", "recompute=2")], ids=["once", "often"])
def test_a_difference_is_told_with_its_operator(options: tuple[str, ...], tmp_path: Path) -> None:
    code = PROGRAM.replace("KEPT", "False")
    ran = watched(tmp_path, code, options=options)
    found = ran.found
    assert (ran.status, found["verdict"], found["trip"]["step"]) == (1, "mismatch", 1), ran.err
    assert (found["origin"]["line"], found["origin"]["phase"]) == (line_of(code, "# BAD"), "recompute")
    assert found["causes"][0]["id"] == "recompute-mismatch"
    assert any("the random state of forward was not put back" in text for text in found["causes"][0]["evidence"])


def test_ranks_whose_recomputation_agrees_are_left_alone(tmp_path: Path) -> None:
    code = PROGRAM.replace("KEPT", "True")
    ran = watched(tmp_path / "watched", code, options=("--check", "recompute"))
    assert (ran.status, ran.found["verdict"]) == (0, "finite"), ran.err
    assert sorted(ran.out.splitlines()) == sorted(plain(tmp_path / "plain", code).out.splitlines())
