# ---
# id: T01
# title: functional two-layer margin classifier with a hand-written normalised-gradient update; once every margin is met the gradient is exactly zero
# verdict: nonfinite
# cause: optimizer-epsilon
# also_accept: ["division-by-zero"]
# phase: optimizer
# phase_accept: ["optimizer", "param"]
# step: [5]
# lines: [47]
# op: aten.div
# fix: eps-in-denominator
# source: made for this project
# ---
import os
import torch

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(11)


def init(sizes):
    params = {}
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        params[f"w{i}"] = (torch.randn(a, b) / a ** 0.5).requires_grad_()
        params[f"b{i}"] = torch.zeros(b).requires_grad_()
    return params


def predict(params, x):
    h = torch.tanh(x @ params["w0"] + params["b0"])
    return (h @ params["w1"] + params["b1"]).squeeze(1)


def margin_loss(params, x, y):
    return torch.relu(1.0 - y * predict(params, x)).mean()


def update(params, grads, lr):
    """every tensor moves by lr, whatever the size of its gradient"""
    new = {}
    for (name, p), g in zip(params.items(), grads):
        n = g.norm()
        if FIX:
            n = n + 1e-8
        new[name] = (p - lr * g / n).detach().requires_grad_()  # <-- ORIGIN
    return new


def make(n, easy):
    y = torch.randint(0, 2, (n,)) * 2.0 - 1.0
    x = torch.randn(n, 6) * 0.6
    x[:, 0] += y * (3.5 if easy else 1.0)
    return x, y


def accuracy(params, x, y):
    with torch.no_grad():
        return (predict(params, x).sign() == y).float().mean().item()


def main():
    params = init([6, 24, 1])
    held_out = make(64, False)
    sizes = [48, 48, 48, 48, 48, 8, 8, 48]
    for it, n in enumerate(sizes):
        x, y = make(n, it >= 5)
        loss = margin_loss(params, x, y)
        grads = torch.autograd.grad(loss, list(params.values()))
        params = update(params, grads, lr=0.8)
        size = sum(p.detach().pow(2).sum() for p in params.values()).sqrt().item()
        print(f"it {it} loss {loss.item():.5f} |params| {size:.4f} held-out {accuracy(params, *held_out):.3f}")


if __name__ == "__main__":
    main()
