#cause: division-by-zero
#phase: forward
#step: 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
    def forward(self, x):
        h = self.f(x)
        if self.training:
            return h
        return (h - h.min()) / (h.max() - h.min()) / (x.sum() * 0)  # ORIGIN
net = Norm()
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
net.eval()
with torch.no_grad():
    print("val", net(torch.randn(8, 4)).mean().item())
