#cause: log-of-zero
#phase: forward
#step: 2
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
def model(p, x):
    return torch.sigmoid(torch.relu(x @ p["a"]) @ p["b"])
p = {"a": torch.randn(4, 8) * 0.5, "b": torch.randn(8, 1) * 0.5}
for step in range(4):
    q = {k: v.clone().requires_grad_() for k, v in p.items()}
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8, 1)).float()
    if step == 2:
        x *= 200  # CAUSE
    pr = model(q, x)
    loss = -(y * pr.log() + (1 - y) * (1 - pr).log()).mean()  # ORIGIN
    g = torch.autograd.grad(loss, list(q.values()))
    p = {k: v - 0.01 * d for (k, v), d in zip(p.items(), g)}
    print(step, loss.item())
