#cause: infinite-derivative
#phase: backward
#step: 2
import torch
torch.manual_seed(1)
params = {"w1": torch.randn(4, 8) * 0.3, "w2": torch.randn(8, 2) * 0.3}
for v in params.values():
    v.requires_grad_(True)
def net(x):
    return torch.tanh(x @ params["w1"]) @ params["w2"]
def length(v):
    return torch.sqrt((v ** 2).sum(-1))  # ORIGIN
for step in range(5):
    x = torch.randn(6, 4)
    if step == 2:
        x[1] = 0  # CAUSE
    loss = (length(net(x)) - 1).pow(2).mean()
    grads = torch.autograd.grad(loss, list(params.values()))
    with torch.no_grad():
        for p, g in zip(params.values(), grads):
            p -= 0.05 * g
    print("step", step, "loss", float(loss))
