import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4)

    def forward(self, x):
        a = self.q(x) @ x.transpose(-1, -2)
        mask = torch.zeros(3, 3)
        mask[1] = float("-inf")
        attention = (a + mask).softmax(-1)  # ORIGIN
        return (attention @ x).pow(2).mean()


model, x = Model(), torch.randn(1, 3, 4)

opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x)
opt.zero_grad()
loss.backward()
opt.step()
