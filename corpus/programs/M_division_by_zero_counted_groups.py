# ---
# id: M13
# title: healthy: groups with no member and constant columns, divided by a count and a scale that are kept away from zero
# verdict: finite
# cause: none
# near: division-by-zero
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(12)


def group_mean(h, group, n):
    total = h.new_zeros(n, h.shape[1]).index_add(0, group, h)
    count = torch.bincount(group, minlength=n).clamp_min(1)
    return total / count.unsqueeze(1)


def standardise(x):
    s = x.std(0)
    return (x - x.mean(0)) / torch.where(s > 0, s, torch.ones_like(s))


net = nn.Sequential(nn.Linear(5, 16), nn.Tanh())
head = nn.Linear(16, 1)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-2)
for step in range(40):
    x = torch.randn(30, 5)
    x[:, 3] = 7.0  # constant column
    group = torch.randint(0, 9, (30,)) * (torch.rand(30) > 0.2).long()  # groups 9..11 are empty
    pooled = group_mean(net(standardise(x)), group, 12)
    want = group_mean(x[:, :1], group, 12)
    loss = (head(pooled) - want).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
