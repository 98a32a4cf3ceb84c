# ---
# id: U10
# title: fine-tuning with a backbone and a head in two parameter groups; the loop clears backbone.zero_grad() only, the head's gradients pile up
# verdict: unhealthy
# cause: missing-zero-grad
# also_accept: []
# phase: optimizer
# phase_accept: ["optimizer", "backward"]
# step: [1]
# lines: [50]
# op: AccumulateGrad
# line_scored: false
# fix: zero-through-optimizer
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(10)
STEPS = 100


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 12, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0][:, -1]


def series(n):
    x = torch.randn(n, 8, 4)
    return x, (x[:, -3:, 0].sum(1) > 0).long()


backbone, head = Backbone(), nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.SGD([
    {"params": backbone.parameters(), "lr": 0.02},
    {"params": head.parameters(), "lr": 0.2},
], lr=0.1, momentum=0.5)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS, eta_min=1e-3)
for step in range(STEPS):
    x, y = series(48)
    loss = F.cross_entropy(head(backbone(x)), y)
    backbone.zero_grad()  # <-- ORIGIN
    if FIX:
        opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 9 == 0 or step == STEPS - 1:
        size = head[2].weight.grad.norm().item()
        print(f"step {step} loss {loss.item():.4f} head gradient {size:.3f} head weights {head[2].weight.norm().item():.3f}")
