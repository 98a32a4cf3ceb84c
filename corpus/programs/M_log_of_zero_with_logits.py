# ---
# id: M11
# title: healthy: saturated sigmoids and probabilities of exactly 0 handled by logits forms, xlogy and binary_cross_entropy's own clamp
# verdict: finite
# cause: none
# near: log-of-zero
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(10)
net = nn.Linear(4, 3)
nn.init.constant_(net.weight, 20.0)
opt = torch.optim.RMSprop(net.parameters(), lr=0.5)
for step in range(40):
    x = torch.randn(32, 4)
    y = (x[:, :3] > 0).float()
    logits = net(x)  # up to +-80: the sigmoid is exactly 0 or 1 for many
    p = torch.sigmoid(logits.detach())
    hard = F.binary_cross_entropy_with_logits(logits, y)
    entropy = -(torch.xlogy(p, p) + torch.xlogy(1 - p, 1 - p)).mean()
    clamped = F.binary_cross_entropy(torch.sigmoid(logits), y)  # clamps its log at -100
    loss = hard + 0.01 * clamped
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(f"{step} {loss.item():.4f} entropy {entropy.item():.4f} exact zeros {(p == 0).sum().item()}")
