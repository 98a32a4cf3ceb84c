"""A loop that other programs start: `train(steps)` is healthy, `train(steps, bad=2)` turns NaN at step 2."""

import sys

import torch


def train(steps=4, bad=None):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        x = torch.randn(8, 4)
        loss = torch.log(model(x).square() - 10).mean() if step == bad else model(x).square().mean()  # BAD
        opt.zero_grad()
        loss.backward()
        opt.step()
        print("step", step, flush=True)
    return model


if __name__ == "__main__":
    train(4, int(sys.argv[1]) if len(sys.argv) > 1 else None)
