"""A batch of 256 in which the samples whose numbers follow the kind are bad: `rows` at one line, `coupled` behind batch
normalisation, `late` in one line after the other, `hidden` where no result has a row for each sample."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
kind, guilty = sys.argv[1], [int(number) for number in sys.argv[2:]]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.norm = nn.BatchNorm1d(8) if kind == "coupled" else nn.Identity()
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        size = x[:, 0].log()  # positive, but for the guilty
        if kind == "late":
            size = size + x[:, 1].sqrt()
        return self.last(torch.relu(self.norm(self.first(x)))).squeeze(-1) * size


class Hidden(Net):
    def forward(self, x):
        return self.last(torch.relu(self.first(x))).squeeze(-1) * x.amax(0).exp().sum()


model = (Hidden if kind == "hidden" else Net)()
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.rand(256, 6) + 0.5
for i, row in enumerate(guilty):
    if kind == "hidden":
        x[row, 0] = 200.0
    elif kind == "late" and i % 2:
        x[row, 1] = -1.0
    else:
        x[row, 0] = -1.0
loss = (model(x) - x.sum(1)).square().sum() / 256
loss.backward()
opt.step()
