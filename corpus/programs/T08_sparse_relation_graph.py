# ---
# id: T08
# title: sparse message passing over a growing graph; the values of the sparse matrix are allocated and then filled relation by relation, a new relation is forgotten
# verdict: nonfinite
# cause: uninitialised-memory
# also_accept: ["bad-input"]
# phase: data
# phase_accept: ["data", "forward", "param"]
# step: [3]
# lines: [40]
# op: aten.empty
# fix: fill-the-rest
# source: made for this project
# ---
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
torch.manual_seed(8)
NODES = 30
WEIGHT_OF = {0: 1.0, 1: 0.5, 2: 0.25}


class Graph:
    def __init__(self):
        self.edges, self.kinds = [], []

    def grow(self, n, kinds):
        for _ in range(n):
            a, b = torch.randint(0, NODES, (2,)).tolist()
            self.edges.append((a, b))
            self.kinds.append(kinds[int(torch.randint(0, len(kinds), ()))])

    def matrix(self):
        index = torch.tensor(self.edges).T
        kinds = torch.tensor(self.kinds)
        values = torch.empty(len(self.edges))  # <-- ORIGIN
        if FIX:
            values.fill_(0.1)
        for kind, weight in WEIGHT_OF.items():
            values[kinds == kind] = weight
        return torch.sparse_coo_tensor(index, values, (NODES, NODES)).coalesce()


class Propagate(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.own, self.near = nn.Linear(a, b), nn.Linear(a, b, bias=False)

    def forward(self, adj, x):
        return self.own(x) + torch.sparse.mm(adj, self.near(x))


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Propagate(5, 12), Propagate(12, 2)

    def forward(self, adj, x):
        return self.second(adj, torch.tanh(self.first(adj, x)))


def main():
    graph, x = Graph(), torch.randn(NODES, 5)
    y = (x[:, 0] > 0).long()
    model = GNN()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    months = [(40, (0, 1)), (15, (0, 1, 2)), (15, (1, 2)), (15, (0, 1, 2, 3)), (15, (0, 1)), (10, (2,))]
    for month, (n, kinds) in enumerate(months):
        graph.grow(n, kinds)
        adj = graph.matrix()
        logits = model(adj, x)
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        right = (logits.argmax(1) == y).float().mean().item()
        print(f"month {month}: {adj._nnz()} edges, loss {loss.item():.4f}, right {right:.2f}")


if __name__ == "__main__":
    main()
