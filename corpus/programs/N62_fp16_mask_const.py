#cause: mask-constant-overflow
#also: half-overflow fully-masked-row
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)
    def forward(self, x, keep):
        q = self.q(x)
        bias = (1.0 - keep.to(q.dtype)) * -1e9  # ORIGIN
        s = q @ q.mT + bias[:, None]  # CAUSE
        return s.softmax(-1) @ q
net = Att()
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    x, keep = torch.randn(2, 4, 8), torch.ones(2, 4)
    if step == 1:
        keep[1] = 0
    with torch.autocast("cpu", dtype=torch.float16):
        loss = net(x, keep).float().pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
