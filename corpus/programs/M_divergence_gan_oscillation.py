# ---
# id: M33
# title: healthy: generator and discriminator in balance: both losses swing up and down through the run
# verdict: finite
# cause: none
# near: divergence
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(32)
gen = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
dis = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=2e-2, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(dis.parameters(), lr=2e-2, betas=(0.5, 0.9))
for step in range(60):
    a = torch.rand(64) * 6.283
    real = torch.stack([a.cos(), a.sin()], 1) * 2 + 0.1 * torch.randn(64, 2)
    fake = gen(torch.randn(64, 3))
    d_loss = F.softplus(-dis(real)).mean() + F.softplus(dis(fake.detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = F.softplus(-dis(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 6 == 0:
        print(f"{step} d {d_loss.item():.3f} g {g_loss.item():.3f}")
