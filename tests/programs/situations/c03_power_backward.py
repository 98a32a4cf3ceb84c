import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x):
        return ((self.w * x - 1) ** 0.5).sum()  # ORIGIN


model, x = Model(), torch.ones(2)

opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x)
opt.zero_grad()
loss.backward()
opt.step()
