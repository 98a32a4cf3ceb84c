# ---
# id: M43
# title: healthy: checkpoint under bfloat16 autocast with batch norm in eval mode: both executions are alike
# verdict: finite
# cause: none
# near: recompute-mismatch
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

torch.set_num_threads(1)
torch.manual_seed(42)
layers = nn.Sequential(
    nn.Linear(6, 24), nn.BatchNorm1d(24), nn.SiLU(),
    nn.Linear(24, 24), nn.BatchNorm1d(24), nn.SiLU(),
    nn.Linear(24, 4),
)
for m in layers:
    if isinstance(m, nn.BatchNorm1d):
        m.eval()
opt = torch.optim.Adam(layers.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(32, 6)
    y = x[:, :4].argmax(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = checkpoint_sequential(layers, 2, x, use_reentrant=False)
    loss = F.cross_entropy(logits.float(), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
