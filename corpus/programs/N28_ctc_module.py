#cause: infeasible-target
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(6, 5)
crit = nn.CTCLoss(blank=0)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(4):
    x = torch.randn(8, 3, 6)
    target = torch.randint(1, 5, (3, 3))
    lens = torch.tensor([3, 3, 3])
    frames = torch.tensor([8, 8, 8])
    if step == 2:
        frames[1] = 2  # CAUSE
    loss = crit(net(x).log_softmax(-1), target, frames, lens)  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
