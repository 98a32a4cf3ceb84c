# ---
# id: M37
# title: healthy: the number of accumulated micro-batches grows during the run, so the gradient norm does too
# verdict: finite
# cause: none
# near: missing-zero-grad
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(36)
net = nn.Sequential(nn.Linear(5, 20), nn.GELU(), nn.Linear(20, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for update in range(30):
    parts = 1 + update // 6
    total = 0.0
    for _ in range(parts):
        x = torch.randn(16, 5)
        loss = (net(x).squeeze(1) - x[:, 0].abs()).square().mean()
        loss.backward()  # summed, not averaged: the learning rate is divided instead
        total += loss.item() / parts
    for group in opt.param_groups:
        group["lr"] = 0.05 / parts
    opt.step()
    for p in net.parameters():
        p.grad = None
    if update % 5 == 4:
        print(f"update {update} parts {parts} loss {total:.4f}")
