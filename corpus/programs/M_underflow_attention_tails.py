# ---
# id: M03
# title: healthy: attention weights and probabilities that underflow to exact zero where zero is right
# verdict: finite
# cause: none
# near: underflow
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(2)


class Lookup(nn.Module):
    """hard attention: all but one weight is 0 after the softmax"""

    def __init__(self, dim=8):
        super().__init__()
        self.keys = nn.Parameter(torch.randn(6, dim))
        self.values = nn.Parameter(torch.randn(6, 3))
        self.sharp = 40.0

    def forward(self, x):
        score = self.sharp * F.normalize(x, dim=1) @ F.normalize(self.keys, dim=1).T * 4
        return score.softmax(-1) @ self.values


net = Lookup()
opt = torch.optim.Adam(net.parameters(), lr=0.05)
centres = torch.randn(6, 8)
for step in range(60):
    y = torch.randint(0, 6, (48,))
    x = centres[y] + 0.1 * torch.randn(48, 8)
    loss = F.cross_entropy(net(x), y % 3)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
