# ---
# id: U03
# title: one batch of sentinel targets (-999) pushes every bias of the ReLU layer far below zero; from then on only the output bias learns
# verdict: unhealthy
# cause: dead-units
# also_accept: ["outlier-input"]
# phase: forward
# phase_accept: ["forward", "backward", "data", "optimizer", "param"]
# step: [12, 13]
# lines: [33, 41]
# line_scored: false
# fix: clip-gradient
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(2)


class Price(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 24)
        self.out = nn.Linear(24, 1)
        nn.init.uniform_(self.out.weight, 0.05, 0.2)
        nn.init.constant_(self.hidden.bias, 0.8)

    def forward(self, x):
        self.h = torch.relu(self.hidden(x))  # <-- ORIGIN
        return self.out(self.h).squeeze(1)


def sales(n, step):
    x = torch.rand(n, 5)
    y = x[:, 0] + 0.5 * x[:, 1].abs() + 1.0
    if step == 12:
        y[:] = -999.0  # <-- ORIGIN
    return x, y


model = Price()
opt = torch.optim.SGD(model.parameters(), lr=0.02)
for step in range(80):
    x, y = sales(32, step)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    if FIX:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 8 == 0 or step in (11, 12, 13, 14, 79):
        alive = (model.h > 0).any(0).sum().item()
        print(f"step {step} loss {loss.item():.4f} active units {alive}/24 |grad hidden| {model.hidden.weight.grad.norm().item():.5f}")
