import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.0, 2.0]))

    def forward(self, x):
        h = self.w * x
        return torch.where(h > 0, h.log(), torch.zeros_like(h)).sum()  # ORIGIN


model, x = Model(), torch.ones(2)

opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x)
opt.zero_grad()
loss.backward()
opt.step()
