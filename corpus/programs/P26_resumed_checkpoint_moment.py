#cause: poisoned-state
#phase: optimizer
#step: 0
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import io
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), 1e-3)
net(torch.randn(2, 4)).sum().backward()
opt2 = torch.optim.Adam(net.parameters(), 1e-3)
sd = {"state": {i: {"step": torch.tensor(5.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.full_like(p, float("nan") if i else 1.0)} for i, p in enumerate(net.parameters())}, "param_groups": opt2.state_dict()["param_groups"]}  # CAUSE
opt2.load_state_dict(sd)
for step in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt2.zero_grad()
    loss.backward()
    opt2.step()  # ORIGIN
    print(step, loss.item())
