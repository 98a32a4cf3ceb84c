#cause: masked-class-in-loss
#also: zero-times-infinity
#phase: forward
#step: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 6)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(2):
    logits = net(torch.randn(5, 4))
    logits = logits.masked_fill(torch.tensor([0, 0, 0, 0, 0, 1]).bool(), -torch.inf)  # CAUSE
    loss = F.cross_entropy(logits, torch.randint(0, 5, (5,)), label_smoothing=0.1)  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
