#cause: negative-argument
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), 0.01)
def train_step(x):
    rate = net(x)
    loss = (rate ** 1.5 - 1).pow(2).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    if not torch.isfinite(loss):
        raise FloatingPointError("bad loss")
    opt.step()
    return loss.item()
for step in range(5):
    x = torch.rand(4, 5)
    with torch.no_grad():
        net.weight.fill_(0.3)
    if step == 2:
        x = -x * 9  # CAUSE
    try:
        print(step, train_step(x))
    except FloatingPointError as e:
        print(step, "skipped:", e)
