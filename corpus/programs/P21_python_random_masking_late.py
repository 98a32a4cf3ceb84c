#cause: empty-reduction
#phase: forward
#step: 4 5 6 7 8 9 10 11 12 13 14 15
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import random
random.seed(3)
class Drop(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.n = nn.Linear(4, 4), 0
    def forward(self, x):
        self.n += 1
        rows = [i for i in range(len(x)) if self.n < 5 or random.random() < 0.3]
        return self.f(x)[rows].mean(0)  # ORIGIN
net = Drop()
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(16):
    loss = net(torch.randn(4, 4)).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
