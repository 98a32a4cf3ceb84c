#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
feats = []
class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 6, bias=False)
    def forward(self, x):
        h = self.f(x)
        return h / h.norm(dim=1, keepdim=True)  # ORIGIN
net = nn.Sequential(Enc(), nn.Tanh(), nn.Linear(6, 2))
net[0].register_forward_hook(lambda m, i, o: feats.append(o))
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    feats.clear()
    x = torch.randn(6, 4)
    if step == 2:
        x[1] = 0  # CAUSE
    out = net(x)
    loss = out.detach().pow(2).mean() + feats[0].pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
