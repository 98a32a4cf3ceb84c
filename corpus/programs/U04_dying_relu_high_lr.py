# ---
# id: U04
# title: ReLU network under Adam with a learning rate of 1; after some updates no unit fires for any input and the loss stands still
# verdict: unhealthy
# cause: dead-units
# also_accept: ["divergence"]
# phase: forward
# phase_accept: ["forward", "backward", "optimizer", "param"]
# step: [1, 2, 3, 4, 5, 6, 7, 8, 9]
# lines: [40]
# line_scored: false
# fix: lower-learning-rate
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)


def build(n_in, width, depth, n_out):
    layers = []
    for i in range(depth):
        layers += [nn.Linear(n_in if i == 0 else width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, n_out))


def rings(n):
    r = torch.rand(n) * 3
    a = torch.rand(n) * 6.283
    return torch.stack([r * a.cos(), r * a.sin()], 1), (r.long() % 3)


def main():
    torch.manual_seed(3)
    net = build(2, 12, 4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3 if FIX else 1.0)  # <-- ORIGIN
    last = torch.zeros(())
    for step in range(120):
        x, y = rings(64)
        h = net[:-1](x)
        loss = F.cross_entropy(net[-1](h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step < 12 or step % 12 == 11:
            print(f"step {step} loss {loss.item():.4f} active {(h > 0).float().mean().item():.3f} |grad first| {net[0].weight.grad.norm().item():.3g}")


main()
