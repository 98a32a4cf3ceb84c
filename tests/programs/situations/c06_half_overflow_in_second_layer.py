import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 8).half(), nn.Linear(8, 8).half()
        nn.init.constant_(self.fc1.weight, 30.0)
        nn.init.constant_(self.fc2.weight, 300.0)

    def forward(self, x):
        h = self.fc1(x)
        h = self.fc2(h)  # ORIGIN
        return torch.softmax(h - h.max(), -1).float().sum() + (h - h).float().sum()


model, x = Model(), torch.full((2, 8), 3.0).half()

opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x)
opt.zero_grad()
loss.backward()
opt.step()
