# ---
# id: G02
# title: gradients are views of one flat buffer whose all-reduce is started and never waited for
# verdict: mismatch
# cause: rank-divergence
# detail: handle-thrown-away
# phase: comm
# step: [0]
# op: c10d::allreduce_
# fix: wait-for-handle
# source: made for this project
# note: "rank 1 comes late to the first steps, so rank 0 always reads its own sums"
# ---
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

FIX = os.environ.get("FIX") == "1"


class Flat:
    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.buffer = torch.zeros(sum(p.numel() for p in self.parameters))
        at = 0
        for p in self.parameters:
            p.grad = self.buffer[at : at + p.numel()].view_as(p)
            at += p.numel()

    def reduce(self):
        self.buffer /= 2
        work = dist.all_reduce(self.buffer, async_op=True)
        if FIX:
            work.wait()
        return work


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
    flat = Flat(net.parameters())
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(3):
        g = torch.Generator().manual_seed(10 * rank + step)
        x, y = torch.randn(16, 8, generator=g), torch.randint(0, 2, (16,), generator=g)
        flat.buffer.zero_()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        if rank == 1:
            time.sleep(0.3)
        work = flat.reduce()
        opt.step()
        work.wait()
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
