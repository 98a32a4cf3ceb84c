#cause: bad-input
#also: poisoned-state
#phase: data forward
#step: 2 3
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
student, teacher = nn.Linear(4, 2), nn.Sequential(nn.BatchNorm1d(4, affine=False), nn.Linear(4, 2))
opt = torch.optim.SGD(student.parameters(), 0.01)
for step in range(5):
    x = torch.randn(8, 4)
    if step == 2:
        x[1, 1] = float("nan")  # CAUSE
    with torch.no_grad():
        t = teacher(x)  # ORIGIN
    ok = t.isfinite().all(1) & x.isfinite().all(1)
    if ok.any():
        loss = (student(x[ok]) - t[ok]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item())
    else:
        print(step, "skipped")
