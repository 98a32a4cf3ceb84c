import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(6, 5)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(6):
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    out = net(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        pred = out.argmax(1)
        iou = torch.stack([((pred == c) & (y == c)).sum() / ((pred == c) | (y == c)).sum().float() for c in range(5)])
        print(step, loss.item(), iou.nanmean().item(), iou[4].item())
