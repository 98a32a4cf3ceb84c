# ---
# id: M07
# title: healthy: fixed loss scale of 1024 in float16 with the gradients divided before the update
# verdict: finite
# cause: none
# near: loss-scale-overflow
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(6)
SCALE = 1024.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 32), nn.Linear(32, 3)

    def forward(self, x):
        return self.b(F.silu(self.a(x)))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    (loss * SCALE).backward()
    for p in net.parameters():
        p.grad.div_(SCALE)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if step % 8 == 0:
        print(f"{step:3d} {loss.item():.4f}")
