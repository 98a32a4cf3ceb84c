import torch
from digest import show
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)
)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
for epoch in range(2):
    model.train()
    for step in range(4):
        x, y = torch.randn(4, 3, 8, 8), torch.randint(5, (4,))
        opt.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        print(epoch, step, loss.item().hex())
    model.eval()
    with torch.no_grad():
        print("eval", model(torch.randn(4, 3, 8, 8)).sum().item().hex())
show(model, opt)
