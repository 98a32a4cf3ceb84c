# ---
# id: G05
# title: DDP over two gloo ranks; a hand-written safeguard scales the reduced gradients by how large the loss of this rank is
# verdict: mismatch
# cause: rank-divergence
# detail: local-scale
# phase: clip
# step: [4]
# fix: reduce-before-decision
# source: made for this project
# note: "the first steps stay below the threshold on both ranks"
# ---
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FIX = os.environ.get("FIX") == "1"


def batch(rank, step):
    g = torch.Generator().manual_seed(17 * rank + step)
    x = torch.randn(32, 6, generator=g)
    return x, x.sum(1, keepdim=True) * (40.0 if (rank, step) == (1, 4) else 1.0)


def soften(parameters, loss):
    size = loss.detach().clone()
    if FIX:
        dist.all_reduce(size, op=dist.ReduceOp.MAX)
    if size > 50:
        for p in parameters:
            p.grad *= 50 / size


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(4)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1)))
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(9):
        x, y = batch(rank, step)
        loss = (net(x) - y).square().mean()
        opt.zero_grad()
        loss.backward()
        soften(net.parameters(), loss)
        opt.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
