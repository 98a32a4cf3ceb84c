import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
w = torch.zeros(3, requires_grad=True)
X = torch.randn(40, 3)
y = X @ torch.tensor([1.0, -2.0, 0.5])
opt = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
for step in range(4):
    def closure():
        opt.zero_grad()
        loss = (X @ w - y).pow(2).mean()
        loss.backward()
        return loss
    print(step, opt.step(closure).item(), w.tolist())
