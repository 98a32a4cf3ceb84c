import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=4)
for step in range(16):
    x = torch.randn(32, 20)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    opt.zero_grad()
    scaler.scale(loss).backward()
    if step % 2:
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    scaler.step(opt)
    scaler.update()
    print(step, loss.item().hex(), scaler.get_scale())
show(model, opt, scaler)
