# ---
# id: M24
# title: healthy: transcripts of every length up to the limit; the ones CTC cannot align are filtered, the tightest fits exactly
# verdict: finite
# cause: none
# near: infeasible-target
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(23)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def needed(label):
    return len(label) + sum(a == b for a, b in zip(label, label[1:]))


def batch(frames=8):
    labels = []
    while len(labels) < 12:
        n = int(torch.randint(1, 10, ()))
        label = torch.randint(1, 5, (n,)).tolist()
        if needed(label) <= frames:
            labels.append(label)
    labels[0] = [1, 2, 3, 4, 1, 2, 3, 4]  # as long as the input
    x = torch.zeros(frames, 12, 5)
    for i, label in enumerate(labels):
        for t in range(frames):
            x[t, i, label[t * len(label) // frames]] = 1.0
    return x + 0.1 * torch.randn(x.shape), labels


for step in range(40):
    x, labels = batch()
    logp = net(x).log_softmax(-1)
    sizes = torch.tensor([len(v) for v in labels])
    loss = F.ctc_loss(logp, torch.tensor(sum(labels, [])), torch.full((12,), 8), sizes)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
