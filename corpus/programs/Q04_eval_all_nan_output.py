#cause: negative-argument
#phase: forward
#step: 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 2)
    def forward(self, x):
        h = self.f(x)
        if not self.training:
            h = torch.log(-h.abs() - 1)  # ORIGIN
        return h
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(3):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
net.eval()
with torch.no_grad():
    print("val", net(torch.randn(6, 4)).mean().item())
