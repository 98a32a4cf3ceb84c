# ---
# id: M02
# title: healthy: a float16 gradient overflows now and then, GradScaler skips the update and goes on
# verdict: finite
# cause: none
# near: half-overflow
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 20, growth_interval=6)
skipped = 0
for step in range(48):
    x = torch.randn(48, 10)
    y = (x[:, 0] + x[:, 1] > 0).long()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    skipped += scaler.get_scale() < before
    if step % 8 == 0:
        print(f"{step} loss {loss.item():.4f} scale {scaler.get_scale():.0f} skipped {skipped}")
