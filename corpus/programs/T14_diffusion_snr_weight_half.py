# ---
# id: T14
# title: small diffusion model in float16 autocast; the signal-to-noise weight of the first time step exceeds 65504 when it is cast to the type of the prediction
# verdict: nonfinite
# cause: half-overflow
# also_accept: []
# phase: forward
# phase_accept: ["forward"]
# step: [4]
# lines: [53]
# op: aten._to_copy
# fix: weight-in-float32-and-cap
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
T = 50


class Schedule:
    def __init__(self):
        beta = torch.linspace(5e-6, 0.12, T)
        self.keep = torch.cumprod(1 - beta.double(), 0)
        self.snr = (self.keep / (1 - self.keep)).float()
        self.keep = self.keep.float()

    def noisy(self, x0, eps, t):
        a = self.keep[t].unsqueeze(1)
        return a.sqrt() * x0 + (1 - a).sqrt() * eps


class Denoiser(nn.Module):
    def __init__(self, dim, width=32):
        super().__init__()
        self.time = nn.Embedding(T, width)
        self.inp = nn.Linear(dim, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, dim)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(h + F.silu(self.mid(h)))


def weighted_loss(pred, target, snr):
    per_item = (pred - target).square().mean(1)
    if FIX:
        return (snr.clamp(max=5.0) * per_item.float()).mean()
    weight = snr.to(pred.dtype)  # <-- ORIGIN
    return (weight * 0.01 * per_item).mean()


def swiss(n, gen):
    a = 3 * torch.rand(n, generator=gen) + 1
    return torch.stack([a * a.cos(), a * a.sin()], 1) / 3


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(23)
    sch, model = Schedule(), Denoiser(2)
    ema = {k: v.clone() for k, v in model.state_dict().items()}
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(12):
        x0, eps = swiss(6, gen), torch.randn(6, 2, generator=gen)
        t = torch.randint(0, T, (6,), generator=gen)
        with torch.autocast("cpu", dtype=torch.float16):
            x_hat = model(sch.noisy(x0, eps, t), t)
            loss = weighted_loss(x_hat, x0.to(x_hat.dtype), sch.snr[t])
        opt.zero_grad()
        loss.backward()
        opt.step()
        for k, v in model.state_dict().items():
            ema[k].lerp_(v, 0.05)
        print(f"step {step} t {t.tolist()} loss {loss.item():.4f} |ema| {sum(v.norm() for v in ema.values()).item():.3f}")


main()
