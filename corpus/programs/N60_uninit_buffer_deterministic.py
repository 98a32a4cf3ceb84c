#cause: uninitialised-memory
#phase: param forward data
#step: 0
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
class Pos(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("pe", torch.empty(6, 8))  # CAUSE
        for i in range(5):
            self.pe[i] = torch.sin(torch.arange(8) * (i + 1.0))
        self.f = nn.Linear(8, 2)
    def forward(self, x):
        return self.f(x + self.pe)  # ORIGIN
net = Pos()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(3):
    loss = net(torch.randn(4, 6, 8)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
