# ---
# id: T02
# title: probit preference model with its own autograd.Function; forward is stable, the hand-written backward divides a density by a probability that both underflow
# verdict: nonfinite
# cause: underflow
# also_accept: ["division-by-zero"]
# phase: backward
# phase_accept: ["backward"]
# step: [4]
# lines: [38]
# op: LogNdtrBackward
# fix: exp-of-log-difference
# source: made for this project
# ---
import argparse
import math
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"


class LogNdtr(torch.autograd.Function):
    """log of the normal distribution function"""

    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return torch.special.log_ndtr(z)

    @staticmethod
    def backward(ctx, grad_out):
        (z,) = ctx.saved_tensors
        log_pdf = -0.5 * z * z - 0.5 * math.log(2 * math.pi)
        if FIX:
            return grad_out * torch.exp(log_pdf - torch.special.log_ndtr(z))
        return grad_out * (log_pdf.exp() / torch.special.ndtr(z))  # <-- ORIGIN


class Skill(nn.Module):
    def __init__(self, players, dim):
        super().__init__()
        self.base = nn.Embedding(players, 1)
        self.form = nn.Linear(dim, 1, bias=False)
        nn.init.zeros_(self.base.weight)

    def forward(self, who, context):
        return self.base(who).squeeze(-1) + self.form(context).squeeze(-1)


def matches(players, dim, upset):
    a, b = torch.randint(0, players, (2, 32))
    ca, cb = torch.randn(2, 32, dim)
    if upset:
        # one weekend the favourites rested: huge rating gap, and still they lost
        ca[0], cb[0] = -18.0, 18.0
    return a, b, ca, cb


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.05)
    args = ap.parse_args()
    torch.manual_seed(2)
    torch.set_num_threads(1)
    model = Skill(20, 4)
    nn.init.constant_(model.form.weight, 0.3)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)
    for rnd in range(args.rounds):
        a, b, ca, cb = matches(20, 4, rnd == 4)
        margin = model(a, ca) - model(b, cb)
        loss = -LogNdtr.apply(margin).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            spread = model.base.weight.std().item()
        print(f"round {rnd} nll {loss.item():.4f} spread of skills {spread:.4f}")


main()
