import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
fast = torch.compile(net, backend="aot_eager")
opt = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(4):
    x = torch.randn(8, 4)
    loss = F.mse_loss(fast(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
