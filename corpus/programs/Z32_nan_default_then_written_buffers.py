import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Mem(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bank", torch.full((32, 4), float("nan")))
        self.register_buffer("n", torch.tensor(0))
        self.f = nn.Linear(4, 4)
    def forward(self, x):
        h = self.f(x)
        with torch.no_grad():
            k = int(self.n) % 32
            self.bank[k:k + 4] = h[:4]
            self.n += 4
        known = self.bank[: min(int(self.n), 32)]
        return h, known.clone()
net = Mem()
opt = torch.optim.SGD(net.parameters(), 0.05)
for step in range(6):
    h, bank = net(torch.randn(8, 4))
    loss = (h[:, None] - bank[None]).pow(2).sum(-1).mean() + (h - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
