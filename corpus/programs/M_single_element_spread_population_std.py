# ---
# id: M20
# title: healthy: groups of one are standardised with correction=0, batch norm meets its single row in eval mode only
# verdict: finite
# cause: none
# near: single-element-spread
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(19)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.bn, self.b = nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Linear(16, 1)

    def forward(self, x):
        return self.b(torch.relu(self.bn(self.a(x)))).squeeze(1)


def group_advantage(reward):
    if reward.numel() == 1:
        return torch.zeros_like(reward)
    return (reward - reward.mean()) / (reward.std(correction=0) + 1e-4)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(17, 4)
    target = torch.cat([group_advantage(g) for g in x[:, 0].split([6, 6, 4, 1])])
    loss = (net(x) - target).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        net.eval()
        with torch.no_grad():
            one = net(torch.randn(1, 4)).item()
        net.train()
        print(step, loss.item(), one)
