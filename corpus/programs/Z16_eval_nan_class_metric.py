import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters(), 1e-2)
class Meter(nn.Module):
    def forward(self, pred, y):
        return torch.stack([(pred[y == c] == c).float().mean() for c in range(2, 3)])
meter = Meter()
for step in range(5):
    net.train()
    loss = F.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 2, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        y = torch.randint(0, 2, (8,))
        print(step, loss.item(), meter(net(torch.randn(8, 4)).argmax(1), y).nan_to_num(-1).tolist())
