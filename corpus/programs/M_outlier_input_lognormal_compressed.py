# ---
# id: M26
# title: healthy: heavy-tailed incomes (up to a thousand times the median) that the model compresses with log1p and a clip
# verdict: finite
# cause: none
# near: outlier-input
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(25)


class Robust(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, x):
        return self.body(torch.log1p(x).clamp(max=8.0)).squeeze(1)


net = Robust()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for step in range(50):
    x = torch.exp(2.5 * torch.randn(48, 3))
    if step == 20:
        x[0] = 5e5
    y = torch.log1p(x).clamp(max=8.0).mean(1)
    loss = nn.functional.huber_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0 or step == 20:
        print(f"{step} loss {loss.item():.4f} largest input {x.max().item():.3g}")
