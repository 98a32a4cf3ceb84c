import torch
from digest import show

torch.manual_seed(0)
w1, w2 = torch.randn(4, 8, requires_grad=True), torch.randn(8, 1, requires_grad=True)
for step in range(8):
    x = torch.randn(5, 4)
    loss = ((x @ w1).relu() @ w2 - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            w -= 0.01 * w.grad
            w.grad = None
    print(step, loss.item().hex())
show(w1, w2)
