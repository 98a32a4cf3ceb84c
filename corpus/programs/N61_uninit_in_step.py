#cause: uninitialised-memory
#phase: forward data param
#step: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
net = nn.Linear(4, 4)
opt = torch.optim.Adam(net.parameters(), 1e-3)
def pad(xs, n):
    out = torch.empty(len(xs), n, 4)  # CAUSE
    for i, x in enumerate(xs):
        out[i, : len(x)] = x
    return out
for step in range(3):
    batch = pad([torch.randn(3, 4), torch.randn(5, 4)], 5)
    loss = net(batch).pow(2).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
