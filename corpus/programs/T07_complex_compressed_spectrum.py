# ---
# id: T07
# title: complex-valued speech mask with the power-compressed spectral loss; a clip that ends in digital silence
# verdict: nonfinite
# cause: infinite-derivative
# also_accept: ["zero-times-infinity"]
# phase: backward
# phase_accept: ["backward"]
# step: [3]
# lines: [52]
# op: PowBackward0
# fix: floor-under-the-power
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
FRAME = 16


class ComplexLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        w = torch.randn(n_out, n_in, dtype=torch.cfloat) * (0.5 / n_in ** 0.5)
        self.weight = nn.Parameter(w)

    def forward(self, z):
        return z @ self.weight.mT


class Enhancer(nn.Module):
    """predicts a complex ratio mask, frame by frame"""

    def __init__(self, bins):
        super().__init__()
        self.up = ComplexLinear(bins, 2 * bins)
        self.down = ComplexLinear(2 * bins, bins)

    def forward(self, spec):
        h = self.up(spec)
        h = torch.complex(torch.tanh(h.real), torch.tanh(h.imag))
        return spec * (1.0 + self.down(h))


def compress(spec, c=0.3):
    mag = spec.abs()
    if FIX:
        mag = mag.clamp_min(1e-4)
    return mag ** c, torch.polar(mag ** c, spec.angle())  # <-- ORIGIN


def spectral_loss(est, ref):
    (m1, z1), (m2, z2) = compress(est), compress(ref)
    return 0.7 * (m1 - m2).square().mean() + 0.3 * (z1 - z2).abs().square().mean()


def clip(gen, seconds_of_speech):
    t = torch.arange(FRAME * 12) / FRAME
    clean = torch.sin(6.28 * t * (1 + torch.rand((), generator=gen)) * 2)
    noisy = clean + 0.2 * torch.randn(t.shape, generator=gen)
    end = int(seconds_of_speech * FRAME)
    clean[end:], noisy[end:] = 0, 0
    return [torch.fft.rfft(s.view(-1, FRAME)) for s in (noisy, clean)]


def main(epochs=2):
    torch.manual_seed(4)
    gen = torch.Generator().manual_seed(4)
    net = Enhancer(FRAME // 2 + 1)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    n = 0
    for epoch in range(epochs):
        for seconds in (12, 12, 12, 9, 12):
            noisy, clean = clip(gen, seconds)
            loss = spectral_loss(net(noisy), clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(f"update {n} loss {loss.item():.5f}")
            n += 1
        with torch.no_grad():
            noisy, clean = clip(gen, 12)
            gain = (noisy - clean).abs().mean() - (net(noisy) - clean).abs().mean()
            print(f"epoch {epoch}: error removed {gain.item():.4f}")


main()
