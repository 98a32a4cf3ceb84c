#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
torch.manual_seed(3)
critic = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
gen = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
opt_d = torch.optim.Adam(critic.parameters(), 1e-3)
opt_g = torch.optim.Adam(gen.parameters(), 1e-3)
def penalty(real, fake):
    a = torch.rand(len(real), 1)
    mid = (a * real + (1 - a) * fake).requires_grad_(True)
    g, = torch.autograd.grad(critic(mid).sum(), mid, create_graph=True)
    return (g.pow(2).sum(1).sqrt() - 1).pow(2).mean()  # ORIGIN
for step in range(4):
    real = torch.randn(8, 6)
    fake = gen(torch.randn(8, 4))
    if step == 2:
        with torch.no_grad():
            critic[0].bias.fill_(-100.0)  # CAUSE
    d_loss = critic(fake.detach()).mean() - critic(real).mean() + 10 * penalty(real, fake.detach())
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = -critic(fake).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    print(step, d_loss.item(), g_loss.item())
