#cause: bad-input
#phase: data
#step: 2
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
for step in range(5):
    x = torch.randn(6, 4)
    if step == 2:
        x[0, 0] = float("nan")  # CAUSE
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(x), torch.zeros(6).long())  # ORIGIN
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    print(step, loss.item())
