import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 8))
opt = torch.optim.Adagrad(model.parameters(), lr=1e-2)
for step in range(5):
    opt.zero_grad()
    for part in range(3):
        x = torch.randn(4, 8)
        loss = (model(x) - x).square().mean() / 3
        loss.backward()
        print(step, part, loss.item().hex())
    opt.step()
show(model, opt)
