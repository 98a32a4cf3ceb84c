import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 3.0]))

    def forward(self, x):
        a = (self.w * x - 2).sqrt()  # ORIGIN
        return (a + 1).sqrt().sum()


model, x = Model(), torch.ones(2)

opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x)
opt.zero_grad()
loss.backward()
opt.step()
