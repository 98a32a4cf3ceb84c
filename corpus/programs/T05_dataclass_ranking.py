# ---
# id: T05
# title: learning to rank with dataclass batches; scores are standardised inside each query, and one query has a single candidate
# verdict: nonfinite
# cause: single-element-spread
# also_accept: []
# phase: forward
# phase_accept: ["forward"]
# step: [3]
# lines: [56]
# op: aten.std
# fix: population-std
# source: made for this project
# ---
import os
from dataclasses import dataclass, field
from typing import List
import torch
from torch import Tensor, nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)


@dataclass
class Query:
    features: Tensor
    relevance: Tensor


@dataclass
class Batch:
    queries: List[Query] = field(default_factory=list)

    def __len__(self):
        return sum(len(q.relevance) for q in self.queries)


@dataclass
class Config:
    width: int = 16
    lr: float = 1e-2
    sizes: tuple = ((5, 4, 6), (3, 7, 2), (8, 4, 4), (6, 1, 5), (4, 4, 3), (2, 9, 5))


def collect(cfg, gen):
    for sizes in cfg.sizes:
        batch = Batch()
        for n in sizes:
            f = torch.randn(n, 6, generator=gen)
            batch.queries.append(Query(f, (f[:, 0] - 0.5 * f[:, 1] > 0).float()))
        yield batch


def standardise(s):
    return (s - s.mean()) / (s.std(correction=0 if FIX else 1) + 1e-6)  # <-- ORIGIN


def listwise(scores: Tensor, relevance: Tensor) -> Tensor:
    target = (relevance * 3).softmax(0)
    return -(target * standardise(scores).log_softmax(0)).sum()


@torch.no_grad()
def pairs_in_order(model, q):
    s = model(q.features).squeeze(1)
    d = (s[:, None] - s[None]) * (q.relevance[:, None] - q.relevance[None])
    return (d > 0).sum().item() / max((d != 0).sum().item(), 1)


def run(cfg: Config):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(3)
    model = nn.Sequential(nn.Linear(6, cfg.width), nn.Tanh(), nn.Linear(cfg.width, 1))
    opt = torch.optim.RMSprop(model.parameters(), lr=cfg.lr)
    for it, batch in enumerate(collect(cfg, gen)):
        opt.zero_grad()
        total = torch.zeros(())
        for q in batch.queries:
            total = total + listwise(model(q.features).squeeze(1), q.relevance)
        loss = total / len(batch.queries)
        loss.backward()
        opt.step()
        print(f"{it}: {len(batch)} documents, loss {loss.item():.4f}, order {pairs_in_order(model, batch.queries[0]):.2f}")


run(Config())
