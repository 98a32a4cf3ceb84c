import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(net.parameters(), 1e-3, fused=True)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, (step + 1) / 10))
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=20)
for step in range(90):
    x = torch.randn(16, 8)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.mse_loss(net(x), x[:, :1].half())
    opt.zero_grad()
    scaler.scale(loss).backward()
    if step % 2:
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    sched.step()
    print(step, loss.item(), scaler.get_scale())
