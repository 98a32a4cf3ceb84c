#cause: division-by-zero
#phase: forward
#step: 3
import torch
from torch import nn
torch.manual_seed(0)
class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8, sparse=True)
    def forward(self, ids, keep):
        e = self.emb(ids) * keep[..., None]
        return e.sum(1) / keep.sum(1, keepdim=True)  # ORIGIN
net = Bag()
opt = torch.optim.SparseAdam(net.parameters(), 1e-2)
for step in range(5):
    ids = torch.randint(0, 30, (4, 6))
    keep = (torch.rand(4, 6) > 0.2).float()
    if step == 3:
        keep[2] = 0  # CAUSE
    loss = net(ids, keep).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
