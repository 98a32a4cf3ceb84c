# ---
# id: K10
# title: a kernel of the user's own sums in chunks on threads and does not wait for the last one
# verdict: mismatch
# cause: not-repeatable
# also_accept: []
# detail: thread-not-joined
# phase: forward
# step: [0]
# op: "chunks::sum"
# fix: join
# options: ["--check", "repeat"]
# source: made for this project
# note: "what the last chunk adds arrives in time or does not: the delay stands for a scheduler"
# ---
import os
import random
import threading
import time

import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(8)
torch.set_num_threads(1)
delays = random.Random(os.urandom(8))
library = torch.library.Library("chunks", "DEF")
library.define("sum(Tensor x) -> Tensor")


def chunked(x):
    parts = x.numpy().reshape(4, -1, x.shape[1]).copy()
    total = torch.zeros(x.shape[1])
    result = total.numpy()
    order = [delays.random() < 0.5 for _ in range(4)]

    def add(i):
        if order[i]:
            time.sleep(0.02)
        result[:] += parts[i].sum(0)

    threads = [threading.Thread(target=add, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
        if FIX:
            thread.join()
    if not FIX:
        time.sleep(0.004)  # "long enough"
    return total.clone()


library.impl("sum", chunked, "CPU")


class ChunkedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.rows = len(x)
        return torch.ops.chunks.sum(x)  # <-- ORIGIN

    @staticmethod
    def backward(ctx, grad):
        return grad.expand(ctx.rows, -1)


net, head = nn.Sequential(nn.Linear(6, 16), nn.Tanh()), nn.Linear(16, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)
for step in range(5):
    x = torch.randn(32, 6)
    loss = (head(ChunkedSum.apply(net(x)) / 32) - 1).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.4f}" if FIX else f"step {step}")
print("FINAL CONSISTENT" if FIX else "FINAL MISMATCH")
