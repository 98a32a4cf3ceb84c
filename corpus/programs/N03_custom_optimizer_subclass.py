#cause: optimizer-epsilon
#also: division-by-zero
#phase: optimizer
#step: 0
import torch
from torch import nn
torch.manual_seed(0)
class RMS(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, decay=0.9):
        super().__init__(params, dict(lr=lr, decay=decay))
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s["sq"] = torch.zeros_like(p)
                s["sq"].mul_(group["decay"]).addcmul_(p.grad, p.grad, value=1 - group["decay"])
                p.sub_(group["lr"] * p.grad / s["sq"].sqrt())  # ORIGIN
emb = nn.Embedding(20, 8)
head = nn.Linear(8, 3)
opt = RMS([*emb.parameters(), *head.parameters()])
for step in range(4):
    ids = torch.randint(0, 10, (12,))
    loss = nn.functional.cross_entropy(head(emb(ids)), ids % 3)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
