# ---
# id: M47
# title: healthy: learning rate exactly 0 at the first step of the warm-up and at the last of the cosine
# verdict: finite
# cause: none
# near: learning-rate-zero
# source: made for this project
# ---
import math
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(46)
STEPS, WARM = 60, 5
net = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 3))
opt = torch.optim.AdamW(net.parameters(), lr=2e-2)


def factor(step):
    if step < WARM:
        return step / WARM
    return 0.5 * (1 + math.cos(math.pi * (step - WARM) / (STEPS - 1 - WARM)))


sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
for step in range(STEPS):
    x = torch.randn(48, 6)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0 or step == STEPS - 1:
        print(f"{step} lr {opt.param_groups[0]['lr']:.5f} loss {loss.item():.4f}")
    sched.step()
