import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 6)
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(5):
    q = torch.rand(8, 6)
    q = torch.where(q > 0.5, q, 0.0)
    q[:, 0] += 0.1
    q = q / q.sum(1, keepdim=True)
    loss = F.kl_div(net(torch.randn(8, 4)).log_softmax(-1), q, reduction="batchmean")
    with torch.no_grad():
        ent = -(q * q.log()).nansum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), ent.item(), q.log().min().item())
