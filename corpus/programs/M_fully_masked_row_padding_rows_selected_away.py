# ---
# id: M22
# title: healthy: whole padding rows exist, but they are taken out by index before attention and put back after it
# verdict: finite
# cause: none
# near: fully-masked-row
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(21)


class SentencePool(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.emb = nn.Embedding(20, dim)
        self.query = nn.Parameter(torch.randn(dim))
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        b, s, t = ids.shape
        flat = ids.view(b * s, t)
        used = (flat != 0).any(1).nonzero().squeeze(1)
        h = self.emb(flat[used])
        score = (h @ self.query).masked_fill(flat[used] == 0, float("-inf"))
        pooled = (score.softmax(-1).unsqueeze(-1) * h).sum(1)
        back = pooled.new_zeros(b * s, pooled.shape[1]).index_copy(0, used, pooled)
        count = (ids != 0).any(2).sum(1, keepdim=True)
        return self.out(back.view(b, s, -1).sum(1) / count)


net = SentencePool()
opt = torch.optim.Adam(net.parameters(), lr=3e-2)
for step in range(40):
    ids = torch.randint(1, 20, (24, 4, 5))
    ids[:6, 2:] = 0
    ids[:, :, 4] = 0
    share = (ids > 10).sum((1, 2)) / (ids > 0).sum((1, 2))
    loss = nn.functional.cross_entropy(net(ids), (share > 0.45).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
