import sys

import torch
import torchvision
from torchvision.models.resnet import BasicBlock

fault = sys.argv[1]
step = 0


class FaultyBlock(BasicBlock):
    def forward(self, x):
        out = super().forward(x)
        if fault == "layer" and step == 2:
            out = out * (out.mean() - 100).sqrt()  # BAD
        return out


torch.manual_seed(0)
model = torchvision.models.resnet18(num_classes=5)
model.layer3[0].__class__ = FaultyBlock
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
batches = [(torch.randn(2, 3, 32, 32), torch.randint(5, (2,))) for _ in range(4)]
if fault == "data":
    batches[2][0][1, 2, 5, 5] = float("nan")
for step, (x, y) in enumerate(batches):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", loss.item().hex())
