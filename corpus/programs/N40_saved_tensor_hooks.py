#cause: half-overflow
#phase: backward forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 1e-7)
def pack(t):
    return t.to(torch.float16) if t.dtype is torch.float32 else t  # ORIGIN
def unpack(t):
    return t.float() if t.dtype is torch.float16 else t  # CAUSE
for step in range(4):
    x = torch.randn(8, 4)
    if step == 2:
        x[1] = 9e4  # CAUSE
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        loss = (net(x).squeeze() - 1).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
