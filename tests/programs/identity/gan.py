import torch
from digest import show
from torch import nn

torch.manual_seed(0)
make, judge = (
    nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)),
    nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1)),
)
opt_make, opt_judge = torch.optim.Adam(make.parameters(), lr=1e-3), torch.optim.Adam(judge.parameters(), lr=1e-3)
for step in range(6):
    real, fake = torch.randn(8, 2), make(torch.randn(8, 4))
    opt_judge.zero_grad()
    mixed = torch.lerp(real, fake.detach(), torch.rand(8, 1)).requires_grad_()
    slope = torch.autograd.grad(judge(mixed).sum(), mixed, create_graph=True)[0]
    loss_judge = judge(fake.detach()).mean() - judge(real).mean() + (slope.norm(dim=1) - 1).square().mean()
    loss_judge.backward()
    opt_judge.step()
    opt_make.zero_grad()
    loss_make = -judge(fake).mean()
    loss_make.backward()
    opt_make.step()
    print(step, loss_judge.item().hex(), loss_make.item().hex())
show(make, judge, opt_make, opt_judge)
