#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.e, self.aux = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), None
    def forward(self, x, valid):
        p = self.gate(x).softmax(-1)
        load = (p * valid[:, None]).sum(0) / valid.sum()  # ORIGIN
        self.aux = (load * load).sum() * 3
        return sum(p[:, i:i + 1] * e(x) for i, e in enumerate(self.e))
net = Moe()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    x, valid = torch.randn(6, 4), torch.ones(6)
    if step == 2:
        valid[:] = 0  # CAUSE
    loss = (net(x, valid) - x).pow(2).mean() + 0.01 * net.aux
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
