# ---
# id: T17
# title: physics-informed network for heat in a cylinder; after some steps the collocation set is refined at the axis, where u_r / r is 1/0
# verdict: nonfinite
# cause: division-by-zero
# also_accept: []
# phase: forward
# phase_accept: ["forward"]
# step: [4]
# lines: [49]
# op: aten.div
# fix: multiply-by-r
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(19)


def grad(u, x):
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]


class Field(nn.Module):
    def __init__(self, width=20, depth=3):
        super().__init__()
        sizes = [2] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.last = nn.Linear(width, 1)

    def forward(self, r, t):
        h = torch.stack([r, t], -1)
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return self.last(h).squeeze(-1)


def residual(field, r, t, kappa=0.1):
    r, t = r.clone().requires_grad_(), t.clone().requires_grad_()
    u = field(r, t)
    u_t, u_r = grad(u, t), grad(u, r)
    u_rr = grad(u_r, r)
    if FIX:
        return r * u_t - kappa * (r * u_rr + u_r)
    return u_t - kappa * (u_rr + u_r / r)  # <-- ORIGIN


class Collocation:
    def __init__(self, n):
        self.r, self.t = torch.rand(n) * 0.9 + 0.1, torch.rand(n)

    def refine(self, field, n):
        """keep the points, add a grid where the solution is steep"""
        r = torch.linspace(0.0, 0.3, n)
        self.r, self.t = torch.cat([self.r, r]), torch.cat([self.t, torch.rand(n)])


def main():
    field, pts = Field(), Collocation(64)
    opt = torch.optim.Adam(field.parameters(), lr=2e-3)
    rb = torch.rand(32)
    for step in range(9):
        if step == 4:
            pts.refine(field, 16)
        physics = residual(field, pts.r, pts.t).square().mean()
        start = (field(rb, torch.zeros(32)) - torch.cos(1.57 * rb)).square().mean()
        wall = field(torch.ones(32), rb).square().mean()
        loss = physics + 10 * start + 10 * wall
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} points {len(pts.r)} pde {physics.item():.5f} start {start.item():.5f} wall {wall.item():.5f}")
    with torch.no_grad():
        print("axis temperature", field(torch.zeros(3), torch.tensor([0.0, 0.5, 1.0])).tolist())


if __name__ == "__main__":
    main()
