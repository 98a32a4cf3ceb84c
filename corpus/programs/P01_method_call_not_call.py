#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.scale, self.log = nn.Linear(4, 4), nn.Parameter(torch.ones(4)), []
    def encode(self, x):
        return self.enc(x) * self.scale
    def training_loss(self, batch):
        z = self.encode(batch["x"])
        self.log.append(float(z.detach().mean()))
        z = z / batch["len"][:, None]  # ORIGIN
        return z.pow(2).mean()
model = Model()
opt = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(4):
    batch = {"x": torch.randn(6, 4), "len": torch.randint(1, 5, (6,)).float()}
    if step == 2:
        batch["len"][1] = 0  # CAUSE
    loss = model.training_loss(batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
