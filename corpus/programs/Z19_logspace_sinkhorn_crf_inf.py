import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
trans = nn.Parameter(torch.randn(4, 4) * 0.1)
emit = nn.Linear(5, 4)
opt = torch.optim.Adam([trans, *emit.parameters()], 1e-2)
ban = torch.zeros(4, 4)
ban[0, 3] = ban[2, 1] = -float("inf")
for step in range(5):
    x = torch.randn(2, 6, 5)
    e = emit(x)
    alpha = e[:, 0]
    for t in range(1, 6):
        alpha = torch.logsumexp(alpha[:, :, None] + trans + ban, 1) + e[:, t]
    loss = (alpha.logsumexp(1) - e.max(-1).values.sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
