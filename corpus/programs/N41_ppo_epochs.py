#cause: exp-overflow
#also: divergence
#phase: forward
#step: 4 5 6 7
import torch
from torch import nn
torch.manual_seed(0)
class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.v = nn.Linear(4, 3), nn.Linear(4, 1)
    def forward(self, s):
        return self.pi(s).log_softmax(-1), self.v(s).squeeze(-1)
net = AC()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for it in range(3):
    s = torch.randn(32, 4)
    with torch.no_grad():
        lp, v = net(s)
        a = torch.distributions.Categorical(logits=lp).sample()
        old = lp.gather(1, a[:, None]).squeeze(1)
        ret = torch.randn(32)
    if it == 1:
        old[3] = -120.0  # CAUSE
    for epoch in range(4):
        lp, v = net(s)
        ratio = (lp.gather(1, a[:, None]).squeeze(1) - old).exp()  # ORIGIN
        adv = ret - v.detach()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + (v - ret).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(it, epoch, loss.item())
