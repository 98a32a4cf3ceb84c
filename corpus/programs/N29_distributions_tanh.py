#cause: log-of-zero
#also: negative-argument infinite-derivative
#phase: forward
#step: 2
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)
        self.log_std = nn.Parameter(torch.zeros(2))
    def forward(self, s):
        return Normal(self.body(s), self.log_std.exp())
actor = Actor()
opt = torch.optim.Adam(actor.parameters(), 1e-3)
for step in range(4):
    s = torch.randn(16, 4)
    if step == 2:
        s[3] *= 500  # CAUSE
    d = actor(s)
    u = d.rsample()
    a = torch.tanh(u)
    logp = d.log_prob(u) - torch.log(1 - a.pow(2))  # ORIGIN
    loss = (0.2 * logp.sum(1) + (a - 0.5).pow(2).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
