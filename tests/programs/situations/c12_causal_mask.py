import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4)

    def forward(self, x):
        mask = torch.triu(torch.full((3, 3), float("-inf")), 1)
        return (((self.q(x) @ x.transpose(-1, -2)) + mask).softmax(-1) @ x).pow(2).mean()


model, x = Model(), torch.randn(1, 3, 4)

opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x)
opt.zero_grad()
loss.backward()
opt.step()
