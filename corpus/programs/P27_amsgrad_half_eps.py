#cause: optimizer-epsilon
#phase: optimizer
#step: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 2)).half()
opt = torch.optim.RMSprop(net.parameters(), 1e-3)  # CAUSE
for step in range(3):
    ids = torch.randint(0, 10, (6,))
    loss = F.cross_entropy(net(ids).float(), ids % 2)
    opt.zero_grad()
    loss.backward()
    opt.step()  # ORIGIN
    print(step, loss.item())
