#cause: gradient-edit
#also: infinite-derivative exp-overflow divergence division-by-zero
#phase: hook backward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 12)
        self.dec = nn.Linear(12, 6)
        self.gain = 1.0
    def forward(self, x):
        h = torch.tanh(self.enc(x))
        if h.requires_grad:
            h.register_hook(self.amplify)
        return self.dec(h)
    def amplify(self, g):
        return g * (1.0 / (1.0 - torch.tensor(self.gain)))  # ORIGIN
net = Net()
net.gain = 0.5
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(5, 6)
    if step == 2:
        net.gain = 1.0  # CAUSE
    loss = nn.functional.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
