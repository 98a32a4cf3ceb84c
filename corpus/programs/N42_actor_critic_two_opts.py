#cause: zero-times-infinity
#also: log-of-zero
#phase: forward
#step: 3
import torch
from torch import nn
torch.manual_seed(0)
actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
oa, oc = torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)
for step in range(5):
    s = torch.randn(16, 4)
    legal = torch.rand(16, 3) > 0.3
    legal[:, 0] = True
    value = critic(s).squeeze(-1)
    target = torch.randn(16)
    vloss = (value - target).pow(2).mean()
    oc.zero_grad()
    vloss.backward()
    oc.step()
    logits = actor(s)
    if step == 3:
        logits = logits.masked_fill(~legal, -torch.inf)  # CAUSE
    p, lp = logits.softmax(-1), logits.log_softmax(-1)
    entropy = -(p * lp).sum(-1).mean()  # ORIGIN
    act = torch.zeros(16, dtype=torch.long)
    ploss = -(lp.gather(1, act[:, None]).squeeze(1) * (target - value.detach())).mean() - 0.01 * entropy
    oa.zero_grad()
    ploss.backward()
    oa.step()
    print(step, vloss.item(), ploss.item())
