# ---
# id: M23
# title: healthy: label smoothing and a teacher spread over the allowed classes only, -inf logits in between
# verdict: finite
# cause: none
# near: masked-class-in-loss
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(22)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 8))
teacher = nn.Linear(6, 8).requires_grad_(False)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def smooth_loss(logp, y, allowed, eps=0.1):
    n = allowed.sum(1, keepdim=True)
    target = allowed.float() * eps / n
    target = target.scatter_add(1, y[:, None], torch.full((len(y), 1), 1 - eps))
    return -(target * logp.masked_fill(~allowed, 0.0)).sum(1).mean()


for step in range(50):
    x = torch.randn(32, 6)
    allowed = torch.rand(32, 8) > 0.5
    y = x.argmax(1)
    allowed[torch.arange(32), y] = True
    logp = net(x).masked_fill(~allowed, float("-inf")).log_softmax(-1)
    t = teacher(x).masked_fill(~allowed, float("-inf")).softmax(-1)
    kl = F.kl_div(logp.masked_fill(~allowed, 0.0), t, reduction="batchmean")
    loss = smooth_loss(logp, y, allowed) + 0.1 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
