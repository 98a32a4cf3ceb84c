"""Metric learning: views of the same item move together, different items move apart."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)


def distance(a, b):
    return (a - b).pow(2).sum(-1).sqrt()


for step in range(10):
    item, other = torch.randn(2, 64, 16)
    view = item + 0.1 * torch.randn(64, 16)
    if step == 5:
        view[7] = item[7]  # a duplicate in the data set
    a, b, c = encoder(item), encoder(view), encoder(other)
    loss = torch.relu(distance(a, b) - distance(a, c) + 1.0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
