# ---
# id: T03
# title: hierarchical document encoder, five levels of modules; a document shorter than its batch brings a sentence made of padding only
# verdict: nonfinite
# cause: fully-masked-row
# also_accept: []
# phase: forward
# phase_accept: ["forward"]
# step: [3]
# lines: [32]
# op: aten._softmax
# fix: keep-one-token
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(5)
PAD, VOCAB, DIM = 0, 40, 16


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Parameter(torch.randn(DIM) * 0.3)

    def forward(self, h, keep):
        s = (torch.tanh(h) @ self.query).masked_fill(~keep, float("-inf"))
        return s.softmax(-1)  # <-- ORIGIN


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = Scores()
        self.norm = nn.LayerNorm(DIM)

    def forward(self, h, keep):
        return self.norm((self.scores(h, keep).unsqueeze(-1) * h).sum(-2))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ff = nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(), nn.Linear(DIM, DIM))

    def forward(self, h):
        return h + self.ff(h)


class Level(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.ModuleDict({"mix": nn.Sequential(Mixer(), Mixer()), "pool": Pool()})

    def forward(self, h, keep):
        return self.body["pool"](self.body["mix"](h), keep)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM, padding_idx=PAD)
        self.levels = nn.ModuleList([Level(), Level()])

    def forward(self, ids):
        words = ids != PAD
        sentences = words.any(-1)
        if FIX:
            words = torch.cat([words[..., :1] | ~sentences.unsqueeze(-1), words[..., 1:]], -1)
        s = self.levels[0](self.embed(ids), words)
        return self.levels[1](s, sentences)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.ModuleDict({"encoder": Encoder()})
        self.head = nn.Linear(DIM, 3)

    def forward(self, ids):
        return self.head(self.backbone["encoder"](ids))


def bucket(n_docs, n_sents, ragged):
    ids = torch.randint(1, VOCAB, (n_docs, n_sents, 7))
    ids[:, :, 5:] *= torch.randint(0, 2, (n_docs, n_sents, 2))
    if ragged:
        ids[-1, n_sents - 1:] = PAD
    return ids, ids[:, 0, 0] % 3


model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
plan = [(6, 2, False), (6, 3, False), (6, 4, False), (6, 5, True), (6, 5, False)]
for epoch in range(2):
    for n_docs, n_sents, ragged in plan:
        ids, y = bucket(n_docs, n_sents, ragged)
        loss = nn.functional.cross_entropy(model(ids), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        print(f"epoch {epoch} sentences {n_sents} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        ids, y = bucket(12, 3, False)
        print("eval accuracy", (model(ids).argmax(1) == y).float().mean().item())
    model.train()
