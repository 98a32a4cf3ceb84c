import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.d = nn.Linear(6, 4), nn.Linear(2, 6)
    def forward(self, x):
        m, lv = self.e(F.dropout(x, 0.2, self.training)).chunk(2, -1)
        z = m + torch.randn_like(m) * (0.5 * lv).exp()
        return self.d(z), -0.5 * (1 + lv - m.pow(2) - lv.exp()).sum(1).mean()
net = torch.compile(Vae(), backend="eager")
opt = torch.optim.AdamW(net.parameters(), 1e-3, foreach=True)
for step in range(5):
    x = torch.randn(8, 6)
    rec, kl = net(x)
    loss = F.mse_loss(rec, x) + 0.1 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), torch.rand(1).item())
