"""A model whose result holds something that raises when looked into: `python sly.py`, `python sly.py bad`.

With `bad`, a logarithm of negative numbers in step 4.
"""

import sys

import torch


class Sly(list):
    def __iter__(self):
        raise RuntimeError("sly")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return {"y": self.linear(x), "other": Sly([1])}


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x = torch.rand(3, 4) + 1
    y = model(x)["y"]
    if step == 4 and sys.argv[1:] == ["bad"]:
        y = torch.log(y - 100)
    loss = y.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
