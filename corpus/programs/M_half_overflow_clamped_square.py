# ---
# id: M01
# title: healthy: float16 autocast with activations in the thousands; the square is taken in float32
# verdict: finite
# cause: none
# near: half-overflow
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        h = self.inp(x) * 300.0
        e = h.float().square().mean(1, keepdim=True)  # up to 1e6, beyond float16
        h = h / (e + 1.0).sqrt().to(h.dtype)
        return self.out(h.relu()).squeeze(1)


net = Energy()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(32, 6)
    with torch.autocast("cpu", dtype=torch.float16):
        pred = net(x)
    loss = (pred.float() - x[:, 0]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
