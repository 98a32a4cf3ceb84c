import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
from torch.utils.checkpoint import checkpoint
class B(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.p = nn.Linear(8, 8), nn.Dropout(0.3)
    def forward(self, x):
        return x + self.p(torch.relu(self.f(x)))
blocks, head = nn.ModuleList(B() for _ in range(3)), nn.Linear(8, 2)
opt = torch.optim.Adam([*blocks.parameters(), *head.parameters()], 1e-3)
for step in range(4):
    h = torch.randn(4, 8, requires_grad=True)
    for i, b in enumerate(blocks):
        h = checkpoint(b, h, use_reentrant=i % 2 == 0)
    loss = F.cross_entropy(head(h), torch.randint(0, 2, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), torch.rand(1).item())
