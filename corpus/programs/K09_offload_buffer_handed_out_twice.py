# ---
# id: K09
# title: activation offloading brings every saved tensor back through one staging buffer, two of which one backward node needs
# verdict: mismatch
# cause: buffer-reused
# also_accept: ["recompute-mismatch"]
# detail: staging-buffer-handed-out-twice
# phase: backward
# step: [0]
# op: aten::copy_
# fix: own-buffer
# source: made for this project
# note: "every value is finite and training goes on; the gradients belong to no function"
# ---
import os

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(12)
torch.set_num_threads(1)


class Host:
    """Activations wait on the host and come back through staging memory."""

    def __init__(self, size=1 << 15):
        self.staging = torch.zeros(size)

    def pack(self, tensor):
        if isinstance(tensor, nn.Parameter) or not tensor.is_floating_point():
            return tensor, None
        return tensor.detach().clone(), tensor.shape

    def unpack(self, packed):
        host, shape = packed
        if shape is None or host.numel() > len(self.staging):
            return host
        room = torch.empty(host.numel()) if FIX else self.staging[: host.numel()]
        return room.copy_(host.flatten()).view(shape)  # <-- ORIGIN


class Gated(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate, self.up, self.down = nn.Linear(width, 48), nn.Linear(width, 48), nn.Linear(48, width)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(torch.sigmoid(self.gate(h)) * self.up(h))


net = nn.Sequential(nn.Linear(10, 24), Gated(), Gated(), Gated(), nn.Linear(24, 3))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
host = Host()
for step in range(6):
    x = torch.randn(32, 10)
    y = x[:, :3].argmax(1)
    with saved_tensors_hooks(host.pack, host.unpack):
        loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.4f}")
print("FINAL CONSISTENT" if FIX else "FINAL MISMATCH")
