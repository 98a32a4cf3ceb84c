#cause: infinite-derivative
#phase: backward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Conv1d(1, 1, 5, padding=2, bias=False)
opt = torch.optim.Adam(net.parameters(), 1e-3)
def logmag(x):
    s = torch.fft.rfft(x)
    p = s.real ** 2 + s.imag ** 2
    return p.sqrt()  # ORIGIN
for step in range(4):
    x = torch.randn(2, 1, 32)
    if step == 2:
        x[1] = 0  # CAUSE
    loss = (logmag(net(x)) - logmag(x)).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
