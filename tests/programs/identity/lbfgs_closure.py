import torch
from digest import show

torch.manual_seed(0)
w = torch.randn(6, requires_grad=True)
a, b = torch.randn(20, 6), torch.randn(20)
opt = torch.optim.LBFGS([w], max_iter=5, line_search_fn="strong_wolfe")
calls = 0


def closure():
    global calls
    calls += 1
    opt.zero_grad()
    loss = (a @ w - b).square().mean() + w.abs().sum() * 1e-2
    loss.backward()
    return loss


for step in range(4):
    loss = opt.step(closure)
    print(step, calls, loss.item().hex())
show(w, w.grad, opt)
