# ---
# id: M04
# title: healthy: the 1e-8 guard would vanish in half precision, so the normalisation runs in float32
# verdict: finite
# cause: none
# near: epsilon-lost
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(3)


def unit(v, eps=1e-8):
    with torch.autocast("cpu", enabled=False):
        v = v.float()
        return v / (v.square().sum(-1, keepdim=True) + eps).sqrt()


net = nn.Sequential(nn.Linear(5, 24), nn.GELU(), nn.Linear(24, 4, bias=False))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
goal = torch.eye(4)
for step in range(45):
    x = torch.randn(40, 5)
    x[0] = 0.0  # an empty record: its embedding is nearly zero
    y = x[:, :4].argmax(1)
    with torch.autocast("cpu", dtype=torch.float16):
        z = net(x)
    loss = (unit(z) - goal[y]).square().sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 9 == 0:
        print(f"step {step}: {loss.item():.4f}")
