# ---
# id: M38
# title: healthy: ReLU layer with a negative bias: most activations are zero, every unit still fires for some input
# verdict: finite
# cause: none
# near: dead-units
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(37)


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.code, self.out = nn.Linear(8, 40), nn.Linear(40, 8)
        nn.init.constant_(self.code.bias, -0.5)

    def forward(self, x):
        h = F.relu(self.code(x))
        return self.out(h), h


net = Sparse()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(50):
    x = torch.randn(256, 8)
    rec, h = net(x)
    loss = (rec - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step} {loss.item():.4f} zeros {(h == 0).float().mean().item():.2f} live units {(h > 0).any(0).sum().item()}/40")
