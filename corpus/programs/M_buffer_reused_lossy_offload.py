# ---
# id: M51
# title: "healthy: activations are kept in 8 bits with a scale of their own: what comes back is not what was kept, as is meant"
# verdict: finite
# cause: none
# near: buffer-reused
# source: made for this project
# ---
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

torch.manual_seed(3)
torch.set_num_threads(1)


def pack(tensor):
    if isinstance(tensor, nn.Parameter) or not tensor.is_floating_point():
        return tensor, None
    scale = tensor.abs().amax() / 127 + 1e-12
    return (tensor / scale).round().to(torch.int8), scale


def unpack(packed):
    small, scale = packed
    return small if scale is None else small * scale


net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(8):
    x = torch.randn(24, 8)
    with saved_tensors_hooks(pack, unpack):
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.4f}")
print("FINAL FINITE")
