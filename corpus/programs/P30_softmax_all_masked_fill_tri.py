#cause: fully-masked-row
#phase: forward
#step: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 8)
        self.register_buffer("m", torch.ones(5, 5).triu().bool())
    def forward(self, x):
        h = self.f(x)
        s = (h @ h.mT).masked_fill(self.m, -torch.inf)
        return s.softmax(-1) @ h  # ORIGIN
net = Att()
with torch.no_grad():
    pass
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(2):
    loss = net(torch.randn(2, 5, 8))[:, 1:].pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
