# ---
# id: M05
# title: healthy: lowest finite number as additive mask, combined with a logical or, bfloat16 and float16 both in range
# verdict: finite
# cause: none
# near: mask-constant-overflow
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(4)


class SelfAttention(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.emb = nn.Embedding(12, dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, 12)

    def forward(self, ids):
        q, k, v = self.qkv(self.emb(ids)).chunk(3, -1)
        score = q @ k.mT / 4
        t = ids.shape[1]
        hidden = torch.ones(t, t).triu(1).bool() | (ids == 0)[:, None]
        bias = torch.zeros(hidden.shape, dtype=score.dtype)
        bias = bias.masked_fill(hidden, torch.finfo(score.dtype).min)
        return self.out((score + bias).softmax(-1) @ v)


net = SelfAttention()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    ids = (torch.randint(1, 12, (8, 1)) + torch.arange(9)) % 11 + 1
    ids[:4, 7:] = 0
    with torch.autocast("cpu", dtype=torch.float16 if step % 2 else torch.bfloat16):
        logits = net(ids[:, :-1])
    loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 7:
        print(step, round(loss.item(), 4))
