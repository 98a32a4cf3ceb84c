# ---
# id: M45
# title: healthy: activations are moved to a host pool by saved-tensor hooks, each into its own copy; the input buffer is reused only after backward
# verdict: finite
# cause: none
# near: buffer-reused
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(44)
pool = {}


def pack(t):
    key = len(pool)
    pool[key] = t.detach().clone()
    return key


def unpack(key):
    return pool[key]


net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
staging = torch.zeros(32, 5)
for step in range(40):
    staging.copy_(torch.randn(32, 5))
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        pred = net(staging).squeeze(1)
        loss = (pred - staging[:, :2].sum(1).sin()).square().mean()
    opt.zero_grad()
    loss.backward()
    pool.clear()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
