# ---
# id: M46
# title: healthy: values change behind the optimizer's back, all on purpose: reset rows, weight tying, projection, a numpy view
# verdict: finite
# cause: none
# near: memory-corruption
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(45)
codebook = nn.Parameter(torch.randn(12, 4))
encoder = nn.Linear(6, 4)
decoder = nn.Linear(4, 6)
opt = torch.optim.Adam([codebook, *encoder.parameters(), *decoder.parameters()], lr=3e-2)
used = torch.zeros(12)
view = used.numpy()
basis = torch.randn(4, 6) * 0.4
for step in range(60):
    x = torch.randn(48, 4) @ basis
    z = encoder(x)
    pick = torch.cdist(z, codebook).argmin(1)
    q = codebook[pick]
    straight = z + (q - z).detach()
    loss = (decoder(straight) - x).square().mean() + (q - z.detach()).square().mean() + 0.25 * (z - q.detach()).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    view *= 0.9
    used.index_add_(0, pick, torch.ones(48))
    with torch.no_grad():
        idle = used < 0.5
        codebook[idle] = z[torch.randint(0, 48, (int(idle.sum()),))]
        decoder.weight.div_(decoder.weight.norm(dim=1, keepdim=True).clamp_min(1.5) / 1.5)
    if step % 10 == 0:
        print(step, loss.item(), "codes in use", int((used >= 0.5).sum()))
