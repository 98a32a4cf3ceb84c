# ---
# id: U06
# title: metric learning under GradScaler; the distance of every item to itself gives a NaN gradient on every step, the scale halves without end
# verdict: unhealthy
# cause: loss-scale-collapse
# also_accept: ["infinite-derivative"]
# phase: backward
# phase_accept: ["backward", "unscale", "optimizer"]
# step: [0]
# lines: [27]
# op: SqrtBackward0
# line_scored: true
# fix: eps-inside-sqrt
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(5)


def distances(z):
    gap = (z[:, None] - z[None]).square().sum(-1)
    return (gap + 1e-6).sqrt() if FIX else gap.sqrt()  # <-- ORIGIN


def spread_loss(z, y, margin=1.0):
    d = distances(z)
    same = y[:, None] == y[None]
    pull = d[same].mean()
    push = torch.relu(margin - d[~same]).mean()
    return pull + push


def items(n):
    y = torch.arange(n) % 4
    return torch.randn(n, 8) * 0.4 + torch.nn.functional.one_hot(y, 8), y


def main():
    net = nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 3))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", growth_interval=50)
    for step in range(60):
        x, y = items(24)
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            z = net(x)
        loss = spread_loss(z.float(), y)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        if step % 6 == 0:
            print(f"step {step} loss {loss.item():.4f} scale {scaler.get_scale():.4g}")
    with torch.no_grad():
        x, y = items(24)
        print("final", spread_loss(net(x), y).item(), "scale", scaler.get_scale())


main()
