# ---
# id: T04
# title: masked-token pre-training written as a chain of generators; on short lines the random mask sometimes picks nothing
# verdict: nonfinite
# cause: empty-reduction
# also_accept: ["division-by-zero"]
# phase: forward
# phase_accept: ["forward"]
# step: [6]
# lines: [59]
# op: aten.mean
# fix: mask-at-least-one
# source: made for this project
# ---
import itertools
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
VOCAB, MASK = 30, 29


def lines(gen):
    """long lines first, headlines and captions later"""
    for length in itertools.chain([24, 20, 16, 12], itertools.repeat(3)):
        start = torch.randint(0, 25, (2, 1), generator=gen)
        yield (start + torch.arange(length)) % 25


def corrupt(stream, gen, p=0.15):
    for ids in stream:
        chosen = torch.rand(ids.shape, generator=gen) < p
        if FIX and not chosen.any():
            chosen[0, 0] = True
        yield ids.masked_fill(chosen, MASK), ids, chosen


class Filler(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        h = self.emb(ids)
        return self.out(h + F.gelu(self.conv(h.transpose(1, 2)).transpose(1, 2)))


def train(model, batches, lr):
    """yields the metrics of one update at a time; the caller decides when to stop"""
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for noisy, clean, chosen in batches:
        logits = model(noisy)
        nll = F.cross_entropy(logits.flatten(0, 1), clean.flatten(), reduction="none")
        loss = nll[chosen.flatten()].mean()  # <-- ORIGIN
        opt.zero_grad()
        loss.backward()
        opt.step()
        yield {"loss": loss.item(), "masked": int(chosen.sum()), "length": clean.shape[1]}


def main():
    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(7)
    model = Filler()
    session = train(model, corrupt(lines(gen), gen), lr=5e-3)
    best = float("inf")
    for i, m in zip(range(9), session):
        print(i, m)
        best = min(best, m["loss"])
        if i % 3 == 2:
            with torch.no_grad():
                probe = torch.arange(10).unsqueeze(0)
                hit = (model(probe).argmax(-1) == probe).float().mean().item()
            print("   probe accuracy", round(hit, 3), "best so far", round(best, 4))
    session.close()


if __name__ == "__main__":
    main()
