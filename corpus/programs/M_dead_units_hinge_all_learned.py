# ---
# id: M41
# title: healthy: a margin loss that ends at exactly zero with all-zero gradients because everything is learned
# verdict: finite
# cause: none
# near: dead-units
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(40)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.07)
y = torch.arange(24) % 2 * 2.0 - 1.0
x = torch.randn(24, 2) * 0.3 + y[:, None] * torch.tensor([1.2, -0.6])
for step in range(60):
    margin = y * net(x).squeeze(1)
    loss = torch.relu(1 - margin).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 6 == 0:
        print(step, loss.item(), "right", (margin > 0).float().mean().item())
