#cause: log-of-zero
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
gen = torch.Generator().manual_seed(5)
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.k = nn.Linear(4, 3), 0
    def forward(self, x):
        m = torch.bernoulli(torch.full((3,), 0.6), generator=gen)
        p = self.f(x).softmax(-1)
        self.k += 1
        return (p * (m if self.k == 3 else 1)).log()  # ORIGIN
net = Noisy()
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(4):
    loss = -net(torch.randn(6, 4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
