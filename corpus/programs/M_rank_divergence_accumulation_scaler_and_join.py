# ---
# id: M49
# title: healthy: two DDP ranks with no_sync, a GradScaler that skips, uneven inputs under join, and a metric still on its way
# verdict: finite
# cause: none
# near: rank-divergence
# source: made for this project
# ---
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def data(rank, step):
    g = torch.Generator().manual_seed(50 * rank + step)
    return torch.randn(8, 10, generator=g), torch.randint(0, 3, (8,), generator=g)


def accumulated(net, rank):
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**19)
    metric = torch.zeros(1 << 16)
    for step in range(6):
        with net.no_sync():
            x, y = data(rank, 2 * step)
            scaler.scale(nn.functional.cross_entropy(net(x).half().float() * 60, y)).backward()
        x, y = data(rank, 2 * step + 1)
        with torch.autocast("cpu", dtype=torch.float16):
            out = net(x)
        loss = nn.functional.cross_entropy(out.float(), y)
        scaler.scale(loss).backward()
        pending = dist.all_reduce(metric, async_op=True)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
        pending.wait()
    return scaler.get_scale()


def uneven(net, rank):
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    with net.join():
        for step in range(4 + 3 * rank):
            x, y = data(rank, 100 + step)
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3)))
    scale = accumulated(net, rank)
    uneven(net, rank)
    print(f"rank {rank} scale {scale}", flush=True)


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(main, (port,), 2, start_method="fork")
