#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
torch.manual_seed(0)
class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
    def forward(self, x, edge):
        h = self.lin(x)
        agg = torch.zeros_like(h).index_add_(0, edge[1], h[edge[0]])
        deg = torch.zeros(len(x)).scatter_add_(0, edge[1], torch.ones(edge.shape[1]))
        return agg / deg[:, None]  # ORIGIN
net = GNN()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(6, 3)
    edge = torch.stack([torch.randint(0, 6, (20,)), torch.arange(20) % 6])
    if step == 2:
        edge[1] = torch.arange(20) % 5  # CAUSE
    loss = net(x, edge).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
