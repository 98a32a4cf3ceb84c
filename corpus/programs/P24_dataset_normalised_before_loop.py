#cause: division-by-zero
#also: single-element-spread bad-input
#phase: data
#step: 0
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
X = torch.randn(64, 5)
X[:, 3] = 2.0
X = (X - X.mean(0)) / X.std(0)  # CAUSE
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, torch.randint(0, 2, (64,))), 16, shuffle=True)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for x, y in loader:
    loss = F.cross_entropy(net(x), y)  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
