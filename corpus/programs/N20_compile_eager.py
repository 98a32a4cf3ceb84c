#cause: negative-argument
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Linear(3, 3)
    def forward(self, x):
        z = self.s(x)
        return z, torch.log(1 - z ** 2).sum(-1)  # ORIGIN
net = Flow()
fast = torch.compile(net, backend="eager")
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(8, 3) * 0.1
    if step == 2:
        x[2] = 9.0  # CAUSE
    z, ld = fast(x)
    loss = z.pow(2).mean() - ld.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
