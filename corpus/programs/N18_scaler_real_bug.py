#cause: infinite-derivative
#phase: backward
#step: 4
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)
def contrast(a, b):
    return (a - b).pow(2).sum(1).sqrt().mean()  # ORIGIN
for step in range(40):
    x = torch.randn(6, 4)
    pair = x + torch.randn(6, 4)
    if step >= 4:
        pair[0] = x[0]  # CAUSE
    with torch.autocast("cpu", dtype=torch.float16):
        a, b = net(x), net(pair)
    loss = contrast(a.float(), b.float())
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(step, loss.item(), scaler.get_scale())
