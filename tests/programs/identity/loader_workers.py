import random

import torch
from digest import show
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.full((4,), float(index)) + torch.rand(4) + random.random(), index


if __name__ == "__main__":
    torch.manual_seed(0)
    random.seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = DataLoader(Points(), batch_size=4, shuffle=True, num_workers=2, worker_init_fn=random.seed)
    for epoch in range(2):
        for x, index in loader:
            loss = (model(x).squeeze(1) - index).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(epoch, index.tolist(), loss.item().hex())
    show(model, opt)
