# ---
# id: T15
# title: supervised contrastive loss with two additive exclusion masks; a pair excluded for both reasons receives twice the lowest number
# verdict: nonfinite
# cause: mask-constant-overflow
# also_accept: ["zero-times-infinity"]
# phase: forward
# phase_accept: ["forward"]
# step: [3]
# lines: [44, 52]
# op: aten.add
# fix: one-combined-mask
# source: made for this project
# ---
import os
import random
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
random.seed(0)
torch.manual_seed(31)
torch.set_num_threads(1)


class Tower(nn.Module):
    def __init__(self, n_in, n_out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, n_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def exclusions(user, page, dtype):
    """same user, or same page: neither a positive nor a fair negative"""
    lowest = torch.finfo(dtype).min
    off = ~torch.eye(len(user), dtype=torch.bool)
    same_user = (user[:, None] == user[None]) & off
    same_page = (page[:, None] == page[None]) & off
    if FIX:
        return (same_user | same_page).to(dtype) * lowest
    return same_user.to(dtype) * lowest + same_page.to(dtype) * lowest  # <-- ORIGIN


def contrast(query, key, user, page, tau=0.2):
    sim = query @ key.T / tau
    sim = sim + exclusions(user, page, sim.dtype) * 0.5
    log_p = sim - torch.logsumexp(sim, 1, keepdim=True)
    positive = torch.eye(len(query))
    return -(positive * log_p).sum(1).mean()  # <-- ORIGIN


def clicks(n, repeat_visit):
    user, page = torch.randperm(50)[:n], torch.randperm(80)[:n]
    user[1] = user[0]
    page[3] = page[2]
    if repeat_visit:
        user[5], page[5] = user[4], page[4]
    latent = torch.randn(n, 6)
    return latent + 0.3 * torch.randn(n, 6), torch.cat([latent, torch.rand(n, 2)], 1), user, page


query_tower, page_tower = Tower(6), Tower(8)
opts = [torch.optim.Adam(query_tower.parameters(), 3e-3), torch.optim.SGD(page_tower.parameters(), 0.1)]
for step in range(8):
    q, p, user, page = clicks(16, repeat_visit=step in (3, 6))
    loss = contrast(query_tower(q), page_tower(p), user, page)
    for o in opts:
        o.zero_grad()
    loss.backward()
    for o in opts:
        o.step()
    with torch.no_grad():
        q, p, *_ = clicks(32, False)
        top1 = ((query_tower(q) @ page_tower(p).T).argmax(1) == torch.arange(32)).float().mean().item()
    print(f"step {step} loss {loss.item():.4f} top-1 {top1:.3f}")
