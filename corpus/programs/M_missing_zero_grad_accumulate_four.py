# ---
# id: M35
# title: healthy: gradients are added over four micro-batches on purpose and cleared after every update
# verdict: finite
# cause: none
# near: missing-zero-grad
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(34)
ACCUMULATE = 4
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
opt.zero_grad()
running = 0.0
for micro in range(160):
    x = torch.randn(8, 6)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(1)) / ACCUMULATE
    loss.backward()
    running += loss.item()
    if (micro + 1) % ACCUMULATE == 0:
        opt.step()
        opt.zero_grad()
        if (micro + 1) % 32 == 0:
            print(f"update {(micro + 1) // ACCUMULATE} loss {running:.4f}")
        running = 0.0
