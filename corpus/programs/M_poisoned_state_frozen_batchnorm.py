# ---
# id: M29
# title: healthy: batch norm in eval mode while the rest trains: its running statistics stand still on purpose
# verdict: finite
# cause: none
# near: poisoned-state
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(28)
body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
head = nn.Linear(16, 3)


def data(n):
    x = torch.randn(n, 6) * 3 + 1
    return x, x[:, :3].argmax(1)


opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-2)
for step in range(20):
    x, y = data(48)
    loss = F.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("pre-trained", loss.item())
body[1].eval()
for p in body[1].parameters():
    p.requires_grad_(False)
for step in range(30):
    x, y = data(2)  # small batches, therefore the frozen statistics
    loss = F.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 6 == 0:
        print(step, loss.item(), body[1].running_var.mean().item())
