# ---
# id: M28
# title: healthy: torch.empty for parameters, a feature buffer and a replay store, each written before it is read
# verdict: finite
# cause: none
# near: uninitialised-memory
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(27)


class Linear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.empty(n_out))
        nn.init.kaiming_uniform_(self.weight, a=5 ** 0.5)
        nn.init.zeros_(self.bias)

    def forward(self, x):
        return x @ self.weight.T + self.bias


class Store:
    def __init__(self, size, dim):
        self.rows, self.n = torch.empty(size, dim), 0

    def add(self, rows):
        for r in rows:
            self.rows[self.n % len(self.rows)] = r
            self.n += 1

    def sample(self, k):
        return self.rows[torch.randint(0, min(self.n, len(self.rows)), (k,))]


net = nn.Sequential(Linear(4, 16), nn.Tanh(), Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
store = Store(200, 4)
for step in range(40):
    store.add(torch.randn(10, 4))
    batch = torch.empty(24, 4)
    torch.cat([store.sample(12), store.sample(12)], out=batch)
    loss = (net(batch).squeeze(1) - batch.sum(1)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
