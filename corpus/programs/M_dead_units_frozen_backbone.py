# ---
# id: M39
# title: healthy: a frozen backbone has no gradients, its last block is thawed later
# verdict: finite
# cause: none
# near: dead-units
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(38)
backbone = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
head = nn.Linear(24, 3)
backbone.requires_grad_(False)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for step in range(60):
    if step == 30:
        backbone[2].requires_grad_(True)
        opt.add_param_group({"params": backbone[2].parameters(), "lr": 1e-3})
    x = torch.randn(48, 6)
    loss = F.cross_entropy(head(backbone(x)), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        trained = sum(p.requires_grad for p in backbone.parameters())
        print(step, loss.item(), "thawed tensors", trained)
