# ---
# id: M27
# title: healthy: raw pixels 0..255 that the model itself divides by 255, some frames black, some white
# verdict: finite
# cause: none
# near: outlier-input
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(26)


class Camera(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.out = nn.Linear(6, 3)

    def forward(self, img):
        x = img.float() / 255 - 0.5
        return self.out(F.relu(self.conv(x)).mean((2, 3)))


def frames(n):
    y = torch.randint(0, 3, (n,))
    img = torch.zeros(n, 1, 10, 10, dtype=torch.uint8)
    img[y == 1] = 255
    stripes = torch.arange(10).remainder(2).mul(255).to(torch.uint8)
    img[y == 2] = stripes.expand(10, 10)
    return img, y


net = Camera()
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(40):
    img, y = frames(16)
    loss = F.cross_entropy(net(img), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
