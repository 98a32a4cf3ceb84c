# ---
# id: T19
# title: one record in the wrong unit at step 2 throws the weights far out; everything stays finite for some steps and turns NaN later
# verdict: nonfinite
# cause: outlier-input
# also_accept: ["divergence"]
# detail: root at step 2 (batch and loss finite but far out), first non-finite value (loss inf) at step 5
# phase: data
# phase_accept: ["data", "forward", "backward", "optimizer"]
# step: [2, 5]
# lines: [47]
# line_scored: false
# fix: convert-the-unit
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(27)


class House(nn.Module):
    def __init__(self):
        super().__init__()
        self.area = nn.Linear(4, 12)
        self.rest = nn.Linear(12, 12)
        self.price = nn.Linear(12, 1)

    def forward(self, x):
        h = nn.functional.leaky_relu(self.area(x), 0.1)
        return self.price(nn.functional.leaky_relu(self.rest(h), 0.1)).squeeze(1)


def records(n):
    """area in hundreds of square metres, rooms, age in decades, distance in km"""
    x = torch.rand(n, 4) * torch.tensor([2.0, 4.0, 3.0, 5.0])
    y = 1.5 * x[:, 0] + 0.3 * x[:, 1] - 0.2 * x[:, 2] - 0.1 * x[:, 3]
    return x, y


def load(step):
    x, y = records(16)
    if step == 2:
        x[3, 0] *= 1.0 if FIX else 1e3  # <-- ORIGIN
    return x, y


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        err = (model(data[0]) - data[1]).abs().median().item()
    model.train()
    return err


def main():
    model, held = House(), records(64)
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    for step in range(9):
        x, y = load(step)
        loss = (model(x) - y).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.5g} median error held-out {evaluate(model, held):.4g}")


if __name__ == "__main__":
    main()
