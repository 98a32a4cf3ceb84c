# ---
# id: M31
# title: healthy: unscale, clip, a hook that halves a gradient and added noise, in the right order
# verdict: finite
# cause: none
# near: gradient-edit
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(30)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
net[0].weight.register_hook(lambda g: g * 0.5)
opt = torch.optim.SGD(net.parameters(), lr=0.3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
gen = torch.Generator().manual_seed(0)
for step in range(50):
    x = torch.randn(40, 8)
    y = x[:, :3].argmax(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    for p in net.parameters():
        p.grad.add_(torch.randn(p.shape, generator=gen), alpha=1e-3 / (1 + step))
    scaler.step(opt)
    scaler.update()
    if step % 10 == 0:
        print(f"{step} loss {loss.item():.4f} norm before clipping {norm.item():.3f}")
