# ---
# id: M19
# title: healthy: some batches hold no labelled token at all; the sum is divided by max(count, 1) or the batch is passed over
# verdict: finite
# cause: none
# near: empty-reduction
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(18)
net = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
empty = 0
for step in range(50):
    ids = torch.randint(0, 20, (4, 6))
    labels = (ids * 3) % 20
    labels[torch.rand(4, 6) > 0.3] = -100
    if step in (7, 8, 23):
        labels[:] = -100  # nothing to predict here
    n = (labels != -100).sum()
    total = F.cross_entropy(net(ids).flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
    loss = total / n.clamp(min=1)
    empty += int(n == 0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item(), "empty so far", empty)
