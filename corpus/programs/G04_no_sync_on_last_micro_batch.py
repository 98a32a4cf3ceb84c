# ---
# id: G04
# title: DDP over two gloo ranks accumulates four micro-batches; the condition for no_sync is off by one, and the last one is under it
# verdict: mismatch
# cause: rank-divergence
# detail: no-sync-on-last-micro-batch
# phase: comm
# step: [0]
# fix: sync-on-last-micro-batch
# source: made for this project
# note: "every rank steps with its own gradients from the first update on; all losses look healthy"
# ---
import contextlib
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FIX = os.environ.get("FIX") == "1"
MICRO = 4


def batch(rank, step):
    g = torch.Generator().manual_seed(31 * rank + step)
    x = torch.randn(16, 10, generator=g)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(2)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 2)))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for step in range(6 * MICRO):
        last = step % MICRO == (MICRO - 1 if FIX else 0)
        with contextlib.nullcontext() if last else net.no_sync():
            x, y = batch(rank, step)
            out = net(x)
            loss = nn.functional.cross_entropy(out, y) / MICRO
            loss.backward()
        if step % MICRO == MICRO - 1:
            opt.step()
            opt.zero_grad()
            print(f"rank {rank} step {step // MICRO} loss {loss.item() * MICRO:.4f}", flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
