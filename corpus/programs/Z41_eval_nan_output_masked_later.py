import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Iou(nn.Module):
    def forward(self, a, b):
        return (a & b).sum(1).float() / (a | b).sum(1).float()
net, metric = nn.Linear(4, 3), Iou()
opt = torch.optim.SGD(net.parameters(), 0.01)
for step in range(4):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        empty = torch.zeros(2, 5, dtype=torch.bool)
        print(step, loss.item(), metric(empty, empty).nanmean().item())
