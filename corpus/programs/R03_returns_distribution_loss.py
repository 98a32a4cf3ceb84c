#cause: exp-overflow
#also: half-overflow
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.ls = nn.Linear(3, 2), nn.Linear(3, 2)
    def forward(self, s):
        std = torch.exp(self.ls(s))  # ORIGIN
        return torch.distributions.Normal(self.mu(s), std, validate_args=False)
net = Policy()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    s = torch.randn(8, 3)
    if step == 2:
        s[1] *= 1e3  # CAUSE
    d = net(s)
    loss = -d.log_prob(torch.zeros(8, 2)).mean() - 0.01 * d.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
