import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import random
import numpy as np
random.seed(0); np.random.seed(0)
from torch.utils.data import DataLoader, Dataset
class D(Dataset):
    def __len__(self): return 32
    def __getitem__(self, i):
        x = torch.from_numpy(np.random.default_rng(i).normal(size=4).astype("float32"))
        return x * random.Random(i).random(), torch.tensor(float("inf")) if i % 5 == 0 else torch.tensor(1.0)
def main():
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True)
    for epoch in range(2):
        for x, y in DataLoader(D(), 8, shuffle=True, num_workers=2, persistent_workers=False):
            ok = torch.isfinite(y)
            loss = (net(x).squeeze(1)[ok] - y[ok]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(epoch, loss.item(), random.random(), np.random.rand(), torch.rand(1).item())
if __name__ == "__main__":
    main()
