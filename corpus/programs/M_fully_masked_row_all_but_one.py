# ---
# id: M21
# title: healthy: rows that are masked but for a single key: the softmax gives exactly one
# verdict: finite
# cause: none
# near: fully-masked-row
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(20)


class Pool(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.emb = nn.Embedding(15, dim, padding_idx=0)
        self.att = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, 3)

    def forward(self, ids):
        h = self.emb(ids)
        score = self.att(h).squeeze(-1).masked_fill(ids == 0, float("-inf"))
        return self.out((score.softmax(-1).unsqueeze(-1) * h).sum(1))


def bags(n):
    ids = torch.randint(1, 15, (n, 9))
    keep = torch.randint(1, 10, (n, 1))
    keep[: n // 2] = 1  # half of the rows hold one token and eight pads
    return ids.masked_fill(torch.arange(9) >= keep, 0)


net = Pool()
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(40):
    ids = bags(32)
    loss = nn.functional.cross_entropy(net(ids), ids[:, 0] % 3)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
