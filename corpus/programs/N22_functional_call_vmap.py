#cause: division-by-zero
#also: single-element-spread
#phase: forward
#step: 2
import torch
from torch import nn
from torch.func import functional_call, vmap, grad_and_value
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
params = {k: v.detach().clone() for k, v in net.named_parameters()}
def sample_loss(p, x, y, s):
    return ((functional_call(net, p, (x,)) - y) / s).pow(2).mean()  # ORIGIN
step_fn = vmap(grad_and_value(sample_loss), in_dims=(None, 0, 0, 0))
for step in range(4):
    x, y, s = torch.randn(8, 3), torch.randn(8, 1), torch.rand(8) + 0.5
    if step == 2:
        s[5] = 0  # CAUSE
    grads, losses = step_fn(params, x, y, s)
    params = {k: v - 0.01 * grads[k].mean(0) for k, v in params.items()}
    print(step, losses.mean().item())
