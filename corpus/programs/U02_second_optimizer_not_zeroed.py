# ---
# id: U02
# title: autoencoder with one optimizer for the encoder and one for the decoder; only the encoder's gradients are cleared
# verdict: unhealthy
# cause: missing-zero-grad
# also_accept: []
# phase: optimizer
# phase_accept: ["optimizer", "backward"]
# step: [1]
# lines: [42, 47]
# op: AccumulateGrad
# line_scored: false
# fix: zero-both
# source: made for this project
# ---
import argparse
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"


class Half(nn.Module):
    def __init__(self, a, b, c):
        super().__init__()
        self.one, self.two = nn.Linear(a, b), nn.Linear(b, c)

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))


def train(steps, lr):
    torch.manual_seed(1)
    enc, dec = Half(12, 24, 3), Half(3, 24, 12)
    opt_enc = torch.optim.Adam(enc.parameters(), lr=lr)
    opt_dec = torch.optim.SGD(dec.parameters(), lr=10 * lr)
    mixing = torch.randn(3, 12)
    for step in range(steps):
        x = torch.randn(32, 3) @ mixing
        loss = (dec(enc(x)) - x).square().mean()
        opt_enc.zero_grad()  # <-- ORIGIN
        if FIX:
            opt_dec.zero_grad()
        loss.backward()
        opt_enc.step()
        opt_dec.step()  # <-- ORIGIN
        if step % 8 == 0 or step == steps - 1:
            size = sum(p.grad.norm() for p in dec.parameters()).item()
            print(f"step {step} loss {loss.item():.4f} decoder gradient {size:.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=90)
    ap.add_argument("--lr", type=float, default=5e-3)
    torch.set_num_threads(1)
    train(**vars(ap.parse_args([])))
