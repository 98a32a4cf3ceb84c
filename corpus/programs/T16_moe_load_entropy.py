# ---
# id: T16
# title: mixture of experts whose balance term is load*log(load/importance); an expert that receives no token makes it 0 * -inf
# verdict: nonfinite
# cause: zero-times-infinity
# also_accept: ["log-of-zero"]
# phase: forward
# phase_accept: ["forward"]
# step: [6]
# lines: [45]
# op: aten.log
# fix: xlogy
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(3)


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class MoE(nn.Module):
    def __init__(self, dim, n_experts):
        super().__init__()
        self.router = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim) for _ in range(n_experts))

    def balance(self, prob, choice):
        load = F.one_hot(choice, prob.shape[1]).float().mean(0)
        importance = prob.mean(0)
        if FIX:
            return (torch.xlogy(load, load) - load * importance.log()).sum(), load
        return (load * (load / importance).log()).sum(), load  # <-- ORIGIN

    def forward(self, x):
        prob = self.router(x).softmax(-1)
        gate, choice = prob.max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            pick = (choice == i).nonzero().squeeze(1)
            if len(pick):
                out = out.index_add(0, pick, gate[pick].unsqueeze(1) * expert(x[pick]))
        aux, load = self.balance(prob, choice)
        return x + out, aux, load


class Model(nn.Module):
    def __init__(self, dim=8, n_experts=4):
        super().__init__()
        self.moe = MoE(dim, n_experts)
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        h, aux, load = self.moe(x)
        return self.head(h).squeeze(1), aux, load


def main(steps=10, n=40):
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    drift = torch.randn(8)
    for step in range(steps):
        x = torch.randn(n, 8) + 0.35 * step * drift
        y = x[:, 0] * x[:, 1].sign()
        pred, aux, load = model(x)
        task = F.mse_loss(pred, y)
        loss = task + 0.01 * aux
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} task {task.item():.4f} loss {loss.item():.4f} load {[round(v, 2) for v in load.tolist()]}")


main()
