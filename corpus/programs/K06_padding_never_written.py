# ---
# id: K06
# title: causal convolution pads with memory that is allocated and never written, inside a checkpointed block
# verdict: mismatch
# cause: recompute-mismatch
# detail: padding-not-zeroed
# phase: recompute
# step: [0]
# op: aten::cat
# fix: new-zeros
# source: made for this project
# note: "what is in the memory is whatever was freed there before: other values in forward and in the recomputation"
# ---
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

FIX = os.environ.get("FIX") == "1"
torch.manual_seed(23)
torch.set_num_threads(1)


class Causal(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.conv = nn.Conv1d(width, width, 9)

    def forward(self, x):
        shape = (x.size(0), self.width, 8)
        pad = x.new_zeros(shape) if FIX else x.new_empty(shape)
        y = self.conv(torch.cat([pad, x], 2).nan_to_num(0, 4, -4).clamp(-4, 4))  # <-- ORIGIN
        return x + torch.tanh(y)


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inp = nn.Conv1d(2, width, 1)
        self.layers = nn.ModuleList(Causal(width) for _ in range(3))
        self.out = nn.Conv1d(width, 2, 1)

    def forward(self, x):
        h = self.inp(x)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=False)
        return self.out(h)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(8):
    x = torch.randn(16, 2, 33).cumsum(2) * 0.2
    loss = F.mse_loss(net(x[..., :-1]), x[..., 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
