#cause: log-of-zero
#phase: forward
#step: 1
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Conv1d(1, 1, 3, padding=1, bias=False)
opt = torch.optim.Adam(net.parameters(), 1e-3)
def db(x):
    s = torch.stft(x.squeeze(1), 16, hop_length=8, window=torch.hann_window(16), return_complex=True)
    return 20 * torch.log10(s.abs())  # ORIGIN
for step in range(3):
    x = torch.randn(2, 1, 64)
    if step == 1:
        x[1] = 0  # CAUSE
    loss = (db(net(x)) - 1).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
