#cause: cancellation
#also: negative-argument division-by-zero
#phase: forward
#step: 0
import torch
from torch import nn
torch.manual_seed(0)
class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
    def forward(self, x):
        m = x.mean(-1, keepdim=True)
        v = (x * x).mean(-1, keepdim=True) - m * m
        return (x - m) * torch.rsqrt(v) * self.g  # ORIGIN
net = nn.Sequential(nn.Linear(8, 16), Norm(16), nn.Linear(16, 2))
with torch.no_grad():
    net[0].bias.fill_(300.0)
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for step in range(4):
    x, y = torch.randn(16, 8) * 0.1, torch.randint(0, 2, (16,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
