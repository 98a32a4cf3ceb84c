# ---
# id: M09
# title: healthy: gradients around 1e-9 under Adam with eps 1e-8 and parameters that are never used
# verdict: finite
# cause: none
# near: optimizer-epsilon
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(8)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 6)  # most rows are never looked up, second moment stays 0
        self.out = nn.Linear(6, 1)

    def forward(self, ids):
        return self.out(self.table(ids).mean(1)).squeeze(1)


net = Words()
opt = torch.optim.Adam([
    {"params": net.table.parameters(), "lr": 3e-2, "eps": 1e-15},
    {"params": net.out.parameters(), "lr": 1e-2, "eps": 1e-15},
])
for step in range(50):
    ids = torch.randint(0, 20, (32, 4))
    loss = 1e-8 * (net(ids) - (ids % 2).float().sum(1)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.3e}", f"{net.table.weight.grad.abs().max().item():.2e}")
