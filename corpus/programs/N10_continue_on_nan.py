#cause: single-element-spread
#phase: forward
#step: 3
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), 1e-3)
data = torch.randn(25, 5)
skipped = 0
for step, rows in enumerate(torch.arange(25).split(8)):
    adv = data[rows].sum(1)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)  # ORIGIN
    loss = (net(data[rows])[:, 0] * adv).mean()
    opt.zero_grad()
    if torch.isnan(loss):
        skipped += 1
        continue
    loss.backward()
    opt.step()
    print(step, loss.item())
print("skipped", skipped)
