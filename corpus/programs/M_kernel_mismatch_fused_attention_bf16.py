# ---
# id: M44
# title: healthy: fused and written-out attention, bfloat16 and float32 differ by rounding only, and say so
# verdict: finite
# cause: none
# near: kernel-mismatch
# source: made for this project
# ---
import math
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(43)


class Attention(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, 4)

    def parts(self, x):
        return self.qkv(x).chunk(3, -1)

    def forward(self, x):
        return self.out(F.scaled_dot_product_attention(*self.parts(x), is_causal=True).mean(1))

    @torch.no_grad()
    def reference(self, x):
        q, k, v = self.parts(x)
        s = q @ k.mT / math.sqrt(q.shape[-1])
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf)
        return self.out((s.softmax(-1) @ v).mean(1))


net = Attention()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(16, 7, 16)
    y = x.mean(1)[:, :4].argmax(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = net(x)
    gap = (net.reference(x) - logits.float()).abs().max().item()
    loss = F.cross_entropy(logits.float(), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item(), "difference", gap)
