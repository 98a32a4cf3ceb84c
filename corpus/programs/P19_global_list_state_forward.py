#cause: division-by-zero
#phase: forward
#step: 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
history = []
class Standardise(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 2)
    def forward(self, x):
        history.append(x.detach().mean().item())
        spread = max(history[-2:]) - min(history[-2:]) if len(history) > 1 else 1.0
        return self.f(x / torch.tensor(spread))  # ORIGIN
net = Standardise()
opt = torch.optim.SGD(net.parameters(), 1e-4)
last = None
for step in range(5):
    x = torch.randn(8, 4)
    if step == 3:
        x = last.clone()  # CAUSE
    last = x
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
