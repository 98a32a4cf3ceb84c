# ---
# id: U08
# title: word-vector style bilinear model; the learning rate is a little too high, the loss grows by a steady factor and the run ends before it overflows
# verdict: diverging
# cause: divergence
# also_accept: []
# phase: optimizer
# phase_accept: ["optimizer", "forward", "backward", "param"]
# step: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
# lines: [42]
# line_scored: false
# fix: lower-learning-rate
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(7)


class Bilinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.project = nn.Linear(n_in, n_out)

    def forward(self, x):
        return self.project(x)


def features(n, gen):
    common = torch.randn(n, 1, generator=gen)
    return common + 0.5 * torch.randn(n, 16, generator=gen)


def main():
    gen = torch.Generator().manual_seed(7)
    model = Bilinear(16, 4)
    truth = torch.randn(16, 4, generator=gen) * 0.3
    opt = torch.optim.SGD(model.parameters(), lr=0.05 if FIX else 0.29)  # <-- ORIGIN
    for step in range(70):
        x = features(64, gen)
        loss = (model(x) - x @ truth).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 7 == 0 or step == 69:
            print(f"step {step} loss {loss.item():.5g} |w| {model.project.weight.norm().item():.4g}")


main()
