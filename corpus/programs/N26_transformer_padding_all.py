#cause: fully-masked-row
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(12, 16)
        self.att = nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Linear(16, 2)
    def forward(self, ids):
        h = self.emb(ids)
        a, _ = self.att(h, h, h, key_padding_mask=ids.eq(0))  # ORIGIN
        return self.out((h + a).mean(1))
net = Enc()
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for step in range(4):
    ids = torch.randint(1, 12, (4, 6))
    if step == 2:
        ids[1] = 0  # CAUSE
    loss = nn.functional.cross_entropy(net(ids), torch.randint(0, 2, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
