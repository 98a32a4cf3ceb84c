#cause: division-by-zero
#also: single-element-spread
#phase: forward data
#step: 4 5
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(3):
    s = torch.randn(16, 3)
    r = torch.randn(16) if it != 2 else torch.ones(16)  # CAUSE
    with torch.no_grad():
        logp0 = net(s).log_softmax(-1)[:, 0]
        adv = (r - r.mean()) / r.std()  # ORIGIN
    for epoch in range(2):
        ratio = (net(s).log_softmax(-1)[:, 0] - logp0).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(it, loss.item())
