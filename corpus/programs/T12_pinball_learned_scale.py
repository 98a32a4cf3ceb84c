# ---
# id: T12
# title: quantile regression with an asymmetric Laplace likelihood; the scale is a bare parameter and the optimizer carries it below zero
# verdict: nonfinite
# cause: negative-argument
# also_accept: []
# phase: forward
# phase_accept: ["forward", "param", "optimizer"]
# step: [6]
# lines: [35]
# op: aten.log
# fix: softplus-scale
# source: made for this project
# ---
import argparse
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"


class Quantiles(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.register_buffer("tau", torch.tensor(levels))
        self.body = nn.Sequential(nn.Linear(3, 24), nn.ELU(), nn.Linear(24, len(levels)))
        self.scale = nn.Parameter(torch.full((len(levels),), 0.55))

    def nll(self, x, y):
        err = y.unsqueeze(1) - self.body(x)
        pinball = torch.maximum(self.tau * err, (self.tau - 1) * err)
        s = F.softplus(self.scale) if FIX else self.scale
        return (pinball / s + s.log() - (self.tau * (1 - self.tau)).log()).mean()  # <-- ORIGIN

    @torch.no_grad()
    def coverage(self, x, y):
        return (y.unsqueeze(1) <= self.body(x)).float().mean(0).tolist()


def demand(n, gen):
    x = torch.rand(n, 3, generator=gen)
    return x, 0.2 * x.sum(1) + 0.02 * torch.randn(n, generator=gen)


def main(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=10)
    ap.add_argument("--levels", type=float, nargs="+", default=[0.1, 0.5, 0.9])
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args(argv)
    torch.set_num_threads(1)
    torch.manual_seed(6)
    gen = torch.Generator().manual_seed(6)
    model = Quantiles(args.levels)
    opt = torch.optim.Adam([{"params": model.body.parameters(), "lr": args.lr},
                            {"params": [model.scale], "lr": 0.1}])
    test = demand(200, gen)
    for step in range(args.steps):
        loss = model.nll(*demand(64, gen))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} nll {loss.item():.4f} scale {[round(v, 3) for v in model.scale.tolist()]}")
        if step % 4 == 3:
            print("   coverage", [round(c, 2) for c in model.coverage(*test)])


if __name__ == "__main__":
    main([])
