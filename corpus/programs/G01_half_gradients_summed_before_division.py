# ---
# id: G01
# title: hand-written data parallelism sends scaled gradients as float16 and divides by the number of ranks afterwards
# verdict: nonfinite
# cause: collective-overflow
# detail: sum-then-divide
# phase: comm
# step: [2]
# op: c10d::allreduce_
# fix: divide-before-reduction
# source: made for this project
# note: "both ranks send finite values and both receive the same inf"
# ---
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

FIX = os.environ.get("FIX") == "1"
SCALE = 256.0


def average(parameters, world):
    for p in parameters:
        sent = p.grad.half()
        if FIX:
            sent /= world
        dist.all_reduce(sent)
        p.grad = sent.float() if FIX else sent.float() / world


def batch(rank, step):
    g = torch.Generator().manual_seed(7 * rank + step)
    x = torch.rand(16, 6, generator=g)
    if step == 2:
        x = x * 17.5
    return x, 4.0 * x.sum(1, keepdim=True)


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    net = nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=1e-4)
    for step in range(4):
        x, y = batch(rank, step)
        loss = (net(x) - y).abs().mean() * x.abs().max()
        opt.zero_grad()
        (loss * SCALE).backward()
        average(net.parameters(), 2)
        for p in net.parameters():
            p.grad /= SCALE
        opt.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
