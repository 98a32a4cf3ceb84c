# ---
# id: M36
# title: healthy: one optimizer steps after each backward, the other after every second, each cleared right after its own step
# verdict: finite
# cause: none
# near: missing-zero-grad
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(35)
embed = nn.Embedding(30, 8)
head = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
slow = torch.optim.SGD(embed.parameters(), lr=0.5)
fast = torch.optim.Adam(head.parameters(), lr=1e-2)
target = torch.randn(30)
for step in range(60):
    ids = torch.randint(0, 30, (32,))
    loss = (head(embed(ids)).squeeze(1) - target[ids]).square().mean()
    loss.backward()
    fast.step()
    fast.zero_grad()
    if step % 2 == 1:
        slow.step()
        slow.zero_grad()
    if step % 10 == 0:
        print(step, loss.item())
