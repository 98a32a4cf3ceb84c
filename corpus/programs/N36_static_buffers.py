#cause: bad-input
#phase: data
#step: 3
#scored: 0
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 0.01)
static_x, static_y = torch.empty(8, 4), torch.empty(8, 1)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(6)]
batches[3][1][2] = float("inf")  # CAUSE
for step, (x, y) in enumerate(batches):
    static_x.copy_(x)
    static_y.copy_(y)
    opt.zero_grad(set_to_none=False)
    loss = nn.functional.mse_loss(net(static_x), static_y)  # ORIGIN
    loss.backward()
    opt.step()
    print(step, loss.item())
