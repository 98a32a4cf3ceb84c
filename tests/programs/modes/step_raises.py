"""An optimizer's step raises and is caught; later a batch is bad. WHEN: the step that raises."""

import os

import torch
from torch import nn


class Faulty(torch.optim.SGD):
    fail = False

    def step(self, closure=None):
        if self.fail:
            raise OSError("no space left on the device that the step logs to")
        return super().step(closure)


torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = Faulty(net.parameters(), lr=0.01)
done = 0
for attempt in range(110):
    optimizer.fail = attempt == int(os.environ["WHEN"])
    x = torch.randn(8, 4)
    if attempt == 105:
        x = x * 0
    optimizer.zero_grad()
    loss = net(x).pow(2).mean() + x.norm(dim=1).sum().log() * 1e-3  # ORIGIN
    loss.backward()
    try:
        optimizer.step()
    except OSError:
        continue
    done += 1
