# ---
# id: M08
# title: healthy: GradScaler starts far too high, halves ten times in a row, then settles and grows again
# verdict: finite
# cause: none
# near: loss-scale-collapse
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(7)
net = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 4))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 29, growth_interval=10)
trace = []
for step in range(60):
    x = torch.randn(64, 12)
    y = x[:, :4].argmax(1)
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.float16):
        logits = net(x)
        loss = F.cross_entropy(logits, y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    trace.append(scaler.get_scale())
    if step % 6 == 0:
        print(f"step {step} loss {loss.item():.4f} scale 2^{torch.tensor(trace[-1]).log2().item():.0f}")
