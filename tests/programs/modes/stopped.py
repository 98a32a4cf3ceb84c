"""A loop that swallows every exception; step 2 is bad."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
try:
    for step in range(6):
        try:
            out = model(torch.randn(4, 3))
            loss = (out - 100.0).sqrt().mean() if step == 2 else out.square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        except Exception:  # noqa: BLE001 - as loops do
            print("swallowed")
finally:
    print(f"finally: step {step}, finite {all(bool(p.isfinite().all()) for p in model.parameters())}")
print("after the loop")
