#cause: division-by-zero
#phase: forward
#step: 2
import torch
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
W = [torch.nn.Parameter(torch.randn(5, 5) * 0.4) for _ in range(3)]
def layer(x, w):
    h = x @ w
    return torch.tanh(h / h.std(dim=1, keepdim=True))  # ORIGIN
opt = torch.optim.SGD(W, lr=0.05, momentum=0.9)
for step in range(5):
    x = torch.randn(6, 5)
    if step == 2:
        x[4] = 0.0  # CAUSE
    h = x
    for w in W:
        h = checkpoint(layer, h, w, use_reentrant=False)
    loss = (h - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
