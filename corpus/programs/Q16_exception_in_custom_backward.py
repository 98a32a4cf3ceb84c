#cause: division-by-zero
#phase: backward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Div(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a / (b + 1e-6)
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g / b  # ORIGIN
        if not torch.isfinite(ga).all():
            raise RuntimeError("bad gradient in Div")
        return ga, None
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    b = torch.rand(6, 4) + 0.1
    if step == 1:
        b[0, 0] = 0  # CAUSE
    loss = Div.apply(net(torch.randn(6, 4)), b).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
