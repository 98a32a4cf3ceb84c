# ---
# id: M48
# title: healthy: gradients near the end of float16 are divided by the number of ranks before they are summed
# verdict: finite
# cause: none
# near: collective-overflow
# source: made for this project
# ---
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

SCALE = 4096.0


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    net = DistributedDataParallel(nn.Linear(6, 1))
    net.register_comm_hook(None, default_hooks.fp16_compress_hook)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(6):
        g = torch.Generator().manual_seed(7 * rank + step)
        x = torch.rand(16, 6, generator=g) * 20.0
        loss = (net(x) - 4.0 * x.sum(1, keepdim=True)).abs().mean()
        opt.zero_grad()
        (loss * SCALE).backward()
        for p in net.parameters():
            p.grad /= SCALE
        opt.step()
        total = loss.detach().clone()
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
        if rank == 0:
            print(f"step {step} loss {total.item():.4f} largest {net.module.weight.grad.abs().max() * SCALE:.0f}", flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
