import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(opt, 3, 0.5)
for step in range(8):
    x = torch.randn(8, 16)
    loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    schedule.step()
    print(step, loss.item().hex())
show(model, opt)
