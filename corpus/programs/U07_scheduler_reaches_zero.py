# ---
# id: U07
# title: polynomial decay is stepped per batch although it was sized in epochs; the learning rate is 0 after a twelfth of the run and nothing more is learned
# verdict: unhealthy
# cause: zero-learning-rate
# also_accept: []
# detail: learning rate brought to 0 by its scheduler; no cause in TAXONOMY.md names this
# phase: optimizer
# phase_accept: ["optimizer", "param"]
# step: [10]
# lines: [43, 52]
# line_scored: false
# fix: step-per-epoch
# source: made for this project
# ---
import os
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
EPOCHS, PER_EPOCH = 10, 12


def epoch_data(gen):
    for _ in range(PER_EPOCH):
        x = torch.randn(32, 6, generator=gen)
        yield x, (x[:, 0] * x[:, 1] > 0).long()


@torch.no_grad()
def accuracy(net, gen):
    x, y = next(epoch_data(gen))
    return (net(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(6)
    gen = torch.Generator().manual_seed(6)
    net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=EPOCHS, power=1.0)  # <-- ORIGIN
    for epoch in range(EPOCHS):
        total = 0.0
        for x, y in epoch_data(gen):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if not FIX:
                sched.step()  # <-- ORIGIN
            total += loss.item()
        if FIX:
            sched.step()
        print(f"epoch {epoch} loss {total / PER_EPOCH:.4f} accuracy {accuracy(net, gen):.3f} lr {sched.get_last_lr()[0]:.5f}")


if __name__ == "__main__":
    main()
