import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))

import torch
from digest import show

torch.manual_seed(0)
w, b = torch.randn(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
average = torch.zeros(4, 3)
for step in range(5):
    x = torch.randn(6, 4)
    y = torch.nn.functional.dropout(x @ w + b, 0.2)
    loss = (y - 30).log().mean() if step == 3 else y.square().mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        b.sub_(b.grad, alpha=0.01)
        average.lerp_(w, 0.1)
        w.grad.zero_()
        b.grad = None
    print(step, torch.rand(()).item().hex())
show(w, b, w.grad, average)
