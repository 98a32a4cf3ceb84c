#cause: infinite-derivative
#phase: backward
#step: 2
import torch
torch.manual_seed(0)
w = torch.randn(5, requires_grad=True)
for step in range(4):
    x = torch.randn(10, 5).abs() + 0.1
    if step == 2:
        x[0] = 0  # CAUSE
    z = (x @ w.abs())
    loss = (z ** 1.5).mean()  # ORIGIN
    g, = torch.autograd.grad(loss, w, create_graph=True)
    total = loss + 0.01 * g.pow(2).sum()
    total.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        w.grad.zero_()
    print(step, total.item())
