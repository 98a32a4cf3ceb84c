# ---
# id: M34
# title: healthy: an evidence bound and a critic-free policy loss that fall through zero and become large and negative
# verdict: finite
# cause: none
# near: divergence
# source: made for this project
# ---
import argparse
import math
import torch
from torch import nn


class Density(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mean, self.log_std = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))

    def nll(self, x):
        z = (x - self.mean) / self.log_std.exp()
        return (0.5 * z.square() + self.log_std + 0.5 * math.log(2 * math.pi)).sum(1).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    args = ap.parse_args([])
    torch.set_num_threads(1)
    torch.manual_seed(33)
    model = Density(10)
    opt = torch.optim.Adam(model.parameters(), lr=0.08)
    centre = torch.randn(10)
    for step in range(args.steps):
        loss = model.nll(centre + 0.05 * torch.randn(128, 10))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 6 == 0 or step == args.steps - 1:
            print(f"{step} nll {loss.item():+.3f} std {model.log_std.exp().mean().item():.4f}")


main()
