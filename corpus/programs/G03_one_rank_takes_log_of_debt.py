# ---
# id: G03
# title: DDP over two gloo ranks; an account in debt on rank 1 goes through a logarithm, and both ranks get its gradient
# verdict: nonfinite
# cause: negative-argument
# detail: one-rank-only
# phase: forward
# step: [3]
# op: aten::log
# rank: 1
# fix: clamp-before-log
# source: made for this project
# note: "rank 0 trips in the same step, on a gradient that is not its own"
# ---
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FIX = os.environ.get("FIX") == "1"


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 16)
        self.outer = nn.Linear(16, 1)

    def forward(self, balance):
        balance = balance.clamp(min=1e-3) if FIX else balance
        size = balance.log()
        return self.outer(torch.relu(self.inner(size)))


def batch(rank, step):
    g = torch.Generator().manual_seed(100 * rank + step)
    balance = torch.rand(12, 5, generator=g) * 50 + 0.5
    if rank == 1 and step == 3:
        balance[7, 2] = -20.0
    return balance, torch.randn(12, 1, generator=g)


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = DistributedDataParallel(Scorer())
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(5):
        balance, y = batch(rank, step)
        loss = (net(balance) - y).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
