# ---
# id: U05
# title: pure float16 model, no loss scaling; the mean over many weighted terms makes every gradient smaller than the smallest half number
# verdict: unhealthy
# cause: underflow
# also_accept: []
# phase: backward
# phase_accept: ["backward"]
# step: [0]
# lines: [50]
# line_scored: false
# fix: scale-the-loss
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(4)
SCALE = 2.0 ** 16 if FIX else 1.0


class Pixelwise(nn.Module):
    def __init__(self, ch=6):
        super().__init__()
        self.a = nn.Linear(3, ch)
        self.b = nn.Linear(ch, ch)
        self.c = nn.Linear(ch, 1)

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x))))).squeeze(-1)


def frames(n=4, side=32):
    x = torch.rand(n, side * side, 3) * 0.2
    return x, x.mean(-1) + 0.01


net = Pixelwise().half()
master = [p.detach().float().requires_grad_() for p in net.parameters()]
opt = torch.optim.SGD(master, lr=200.0)
begin = [m.detach().clone() for m in master]
for step in range(50):
    x, y = frames()
    err = (net(x.half()).float() - y) * 1e-2
    loss = err.square().mean()
    net.zero_grad()
    (loss * SCALE).backward()  # <-- ORIGIN
    for m, p in zip(master, net.parameters()):
        m.grad = p.grad.float() / SCALE
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, net.parameters()):
            p.copy_(m)
    if step % 7 == 0 or step == 49:
        moved = sum((m - b).abs().sum() for m, b in zip(master, begin)).item()
        biggest = max(m.grad.abs().max().item() for m in master)
        print(f"step {step} loss {loss.item():.4e} largest gradient {biggest:.3g} weights moved {moved:.4g}")
