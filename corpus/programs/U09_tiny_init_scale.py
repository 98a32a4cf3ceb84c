# ---
# id: U09
# title: GradScaler built with init_scale 2**-14 ("to be safe against overflow"); every float16 gradient underflows to zero and the scale would grow only after 2000 steps
# verdict: unhealthy
# cause: underflow
# also_accept: ["loss-scale-collapse"]
# phase: backward
# phase_accept: ["backward", "unscale"]
# step: [0]
# lines: [43]
# line_scored: false
# fix: default-init-scale
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(8)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.mix = nn.Linear(16, 32)
        self.out = nn.Linear(32, 5, bias=False)

    def forward(self, ids):
        return self.out(torch.relu(self.mix(self.emb(ids))))


def sentences(n=64, length=40):
    ids = torch.randint(0, 30, (n, length))
    return ids, ids % 5


model = Tagger()
opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 12 if FIX else 2.0 ** -14)  # <-- ORIGIN
for step in range(40):
    ids, y = sentences()
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norms = [p.grad.norm().item() for p in model.parameters()]
    scaler.step(opt)
    scaler.update()
    if step % 5 == 0 or step == 39:
        print(f"step {step} loss {loss.item():.4f} gradients {[f'{n:.2g}' for n in norms]} scale {scaler.get_scale():.3g}")
