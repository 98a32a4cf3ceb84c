#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(10, 1)
opt = torch.optim.AdamW(net.parameters(), 1e-2)
def weighted(pred, y, w):
    return (w * (pred - y) ** 2).sum() / w.sum()  # ORIGIN
micro = 0
for step in range(5):
    opt.zero_grad()
    total = 0.0
    for k in range(4):
        x, y = torch.randn(8, 10), torch.randn(8)
        w = torch.rand(8)
        if step == 2 and k == 0:
            w = torch.zeros(8)  # CAUSE
        loss = weighted(net(x).squeeze(1), y, w) / 4
        loss.backward()
        micro += 1
        total = loss.item()
    opt.step()
    print(step, total)
