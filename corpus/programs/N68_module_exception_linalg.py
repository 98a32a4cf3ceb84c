#cause: bad-input
#phase: data forward
#step: 1
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class White(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
    def forward(self, x):
        h = self.f(x)  # ORIGIN
        c = h.T @ h / len(h) + 1e-2 * torch.eye(4)
        return torch.linalg.solve_triangular(torch.linalg.cholesky(c), h.T, upper=False)
net = White()
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    x = torch.randn(8, 4)
    if step == 1:
        x[2, 1] = float("nan")  # CAUSE
    loss = net(x).pow(2).mean() + net.f.weight.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
