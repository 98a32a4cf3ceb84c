#cause: exp-overflow
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
    def forward(self, x):
        y = self.f(x).exp()  # ORIGIN
        if torch.isinf(y).any():
            raise OverflowError("activation overflow")
        return y
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.001)
for step in range(3):
    loss = net(torch.randn(5, 4) * (1 if step != 1 else 1e4)).mean()  # CAUSE
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
