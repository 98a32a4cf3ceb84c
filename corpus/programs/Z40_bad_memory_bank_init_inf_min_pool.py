import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Proto(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("best", torch.full((3,), float("inf")))
        self.register_buffer("mean", torch.full((3,), float("nan")))
        self.f = nn.Linear(4, 3)
    def forward(self, x):
        h = self.f(x)
        if self.training:
            k = int(x.sum().abs() * 10) % 3
            self.best[k] = torch.minimum(self.best[k], h.detach()[:, k].min())
            self.mean[k] = h.detach()[:, k].mean()
        return h
net = Proto()
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(5):
    loss = (net(torch.randn(6, 4)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
