#cause: division-by-zero
#phase: forward
#step: 1
import torch
from torch import nn
torch.manual_seed(0)
@torch.compile(backend="aot_eager")
def cosine(a, b):
    return (a * b).sum(-1) / (a.pow(2).sum(-1) * b.pow(2).sum(-1))  # ORIGIN
enc = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(enc.parameters(), 0.05)
for step in range(3):
    a, b = torch.randn(6, 4), torch.randn(6, 4)
    if step == 1:
        a[2] = 0  # CAUSE
    loss = 1 - cosine(enc(a), enc(b)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
