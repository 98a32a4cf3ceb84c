# ---
# id: M32
# title: healthy: the loss rises more than a hundredfold at the peak of the learning rate schedule and comes back below its start
# verdict: finite
# cause: none
# near: divergence
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(31)
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=1.0)


def lr(step):
    """one cycle: up for eight steps, then down"""
    if step < 8:
        return 0.25 * (step + 1)
    return max(0.05, 2.0 * 0.6 ** (step - 7))


first, peak = None, 0.0
for step in range(60):
    for group in opt.param_groups:
        group["lr"] = lr(step)
    x = torch.randn(64, 8)
    y = 0.5 * x[:, 0] + 0.3 * x[:, 1]
    loss = (net(x).squeeze(1) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    first, peak = first or loss.item(), max(peak, loss.item())
    if step < 12 or step % 6 == 5:
        print(f"{step} lr {lr(step):.3f} loss {loss.item():.4f} peak/first {peak / first:.1f}")
