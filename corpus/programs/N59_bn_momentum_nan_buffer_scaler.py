#cause: bad-input
#also: poisoned-state
#phase: data forward
#step: 2
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for step in range(4):
    x = torch.randn(4, 2, 10)
    if step == 2:
        x[0, 0, 0] = float("nan")  # CAUSE
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(x).float(), torch.randint(0, 2, (4,)))  # ORIGIN
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    print(step, loss.item())
