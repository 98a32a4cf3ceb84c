# ---
# id: T20
# title: autoencoder trained with SGD and momentum; the learning rate is raised to a value that makes every update overshoot
# verdict: nonfinite
# cause: divergence
# also_accept: []
# phase: forward
# phase_accept: ["forward", "backward", "optimizer"]
# step: [4, 5, 6]
# lines: [51]
# line_scored: false
# fix: lower-learning-rate
# source: made for this project
# ---
import json
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(30)
CONFIG = json.loads('{"width": 24, "code": 4, "momentum": 0.9, "lr": 0.9, "warmup": 3, "steps": 30}')
if FIX:
    CONFIG["lr"] = 0.01


class AutoEncoder(nn.Module):
    def __init__(self, n_in, width, code):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n_in, width), nn.LeakyReLU(0.2), nn.Linear(width, code))
        self.decode = nn.Sequential(nn.Linear(code, width), nn.LeakyReLU(0.2), nn.Linear(width, n_in))

    def forward(self, x):
        return self.decode(self.encode(x))


def lr_at(step):
    return min(1.0, (step + 1) / CONFIG["warmup"])


def batches(n, gen):
    basis = torch.randn(4, 12, generator=gen)
    for _ in range(n):
        yield torch.randn(32, 4, generator=gen) @ basis


def main():
    gen = torch.Generator().manual_seed(1)
    model = AutoEncoder(12, CONFIG["width"], CONFIG["code"])
    opt = torch.optim.SGD(model.parameters(), lr=CONFIG["lr"], momentum=CONFIG["momentum"])  # <-- ORIGIN
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_at)
    history = []
    for step, x in enumerate(batches(CONFIG["steps"], gen)):
        loss = (model(x) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        history.append(loss.item())
        if step < 12 or step % 5 == 0:
            size = max(p.detach().abs().max().item() for p in model.parameters())
            print(f"step {step} loss {loss.item():.4g} largest weight {size:.4g}")
    print("first / last", history[0], history[-1])


main()
