#cause: singular-matrix
#also: log-of-zero
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 9)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    x = torch.randn(5, 4)
    J = net(x).view(5, 3, 3)
    if step == 1:
        J = J * torch.tensor([1.0, 1.0, 0.0])  # CAUSE
    loss = -torch.linalg.det(J).abs().log().mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
