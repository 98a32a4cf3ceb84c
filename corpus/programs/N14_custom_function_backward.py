#cause: division-by-zero
#also: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
class SafeNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n = x.norm(dim=-1, keepdim=True)
        ctx.save_for_backward(x, n)
        return n
    @staticmethod
    def backward(ctx, g):
        x, n = ctx.saved_tensors
        return g * x / n  # ORIGIN
net = nn.Linear(3, 3, bias=False)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    x = torch.randn(4, 3)
    if step == 2:
        x[0] = 0  # CAUSE
    loss = SafeNorm.apply(net(x)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
