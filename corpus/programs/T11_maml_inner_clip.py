# ---
# id: T11
# title: MAML with differentiable clipping of the inner gradient; a support set that already meets its margin has a gradient of exactly zero
# verdict: nonfinite
# cause: where-gradient-trap
# also_accept: ["division-by-zero", "zero-times-infinity", "infinite-derivative"]
# phase: backward
# phase_accept: ["backward", "forward"]
# op: PowBackward0
# step: [3]
# lines: [34]
# fix: clamp-the-denominator
# source: made for this project
# ---
import os
import torch
from torch import nn
from torch.func import functional_call

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(9)


def hinge(score, y):
    return torch.relu(1.0 - y * score.squeeze(1)).mean()


def clip(grads, max_norm):
    total = torch.stack([g.square().sum() for g in grads]).sum()
    if FIX:
        scale = max_norm / (total + 1e-12).sqrt().clamp_min(max_norm)
    else:
        scale = (max_norm * total.pow(-0.5)).clamp(max=1.0)  # <-- ORIGIN
    return [g * scale for g in grads]


class Meta:
    def __init__(self, model, inner_lr=0.4, inner_steps=2):
        self.model, self.inner_steps = model, inner_steps
        self.log_lr = nn.Parameter(torch.tensor(inner_lr).log())

    def adapt(self, x, y):
        weights = dict(self.model.named_parameters())
        for _ in range(self.inner_steps):
            loss = hinge(functional_call(self.model, weights, (x,)), y)
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            grads = clip(grads, 1.0)
            weights = {k: w - self.log_lr.exp() * g for (k, w), g in zip(weights.items(), grads)}
        return weights

    def outer(self, tasks):
        losses = []
        for (xs, ys), (xq, yq) in tasks:
            losses.append(hinge(functional_call(self.model, self.adapt(xs, ys), (xq,)), yq))
        return torch.stack(losses).mean()


def task(gap):
    w = torch.tensor([1.0, 0.0, 0.0, 0.0]) + 0.2 * torch.randn(4)

    def draw(n):
        y = torch.randint(0, 2, (n,)) * 2.0 - 1.0
        return torch.randn(n, 4) * 0.3 + gap * y[:, None] * w, y
    return draw(5), draw(15)


def main():
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    meta = Meta(model)
    opt_w = torch.optim.Adam(model.parameters(), lr=3e-2)
    opt_lr = torch.optim.SGD([meta.log_lr], lr=1e-2)
    for step, gap in enumerate([0.3, 0.3, 0.3, 2.0, 0.3, 2.0, 0.3]):
        loss = meta.outer([task(gap) for _ in range(4)])
        for o in (opt_w, opt_lr):
            o.zero_grad()
        loss.backward()
        for o in (opt_w, opt_lr):
            o.step()
        print(f"meta step {step} gap {gap} loss {loss.item():.5f} inner lr {meta.log_lr.exp().item():.4f}")


if __name__ == "__main__":
    main()
