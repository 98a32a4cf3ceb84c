# ---
# id: U01
# title: digit-like classifier; optimizer.zero_grad() is never called, gradients pile up, the loss swings and stays finite
# verdict: unhealthy
# cause: missing-zero-grad
# also_accept: []
# phase: optimizer
# phase_accept: ["optimizer", "backward"]
# step: [1]
# lines: [52, 53]
# op: AccumulateGrad
# line_scored: false
# fix: call-zero-grad
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.out = nn.Linear(4 * 36, 4)

    def forward(self, x):
        return self.out(F.relu(self.conv(x)).flatten(1))


def images(n):
    y = torch.randint(0, 4, (n,))
    x = 1.5 * torch.randn(n, 1, 8, 8)
    for i, k in enumerate(y.tolist()):
        x[i, 0, 2 * k:2 * k + 2] += 1.0
    noisy = torch.rand(n) < 0.1
    return x, torch.where(noisy, torch.randint(0, 4, (n,)), y)


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
for step in range(60):
    x, y = images(32)
    loss = F.cross_entropy(net(x), y)
    if FIX:
        opt.zero_grad()
    loss.backward()  # <-- ORIGIN
    opt.step()  # <-- ORIGIN
    if step % 5 == 0 or step == 59:
        g = torch.cat([p.grad.flatten() for p in net.parameters()]).norm().item()
        print(f"step {step} loss {loss.item():.4f} |grad| {g:.3f}")
