# ---
# id: M40
# title: healthy: an auxiliary head receives exactly zero gradient until the weight of its loss leaves zero
# verdict: finite
# cause: none
# near: dead-units
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(39)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 24)
        self.main, self.aux = nn.Linear(24, 3), nn.Linear(24, 1)

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return self.main(h), self.aux(h).squeeze(1)


net = TwoHeads()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(60):
    weight = max(0.0, min(1.0, (step - 15) / 20))  # 0 for the first 16 steps
    x = torch.randn(48, 6)
    logits, size = net(x)
    main = F.cross_entropy(logits, x[:, :3].argmax(1))
    aux = (size - x.square().mean(1)).square().mean()
    loss = main + weight * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step} main {main.item():.4f} aux {aux.item():.4f} weight {weight:.2f}")
