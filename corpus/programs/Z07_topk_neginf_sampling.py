import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(8, 20)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(8):
    x = torch.randn(6, 8)
    logits = net(x)
    k = logits.topk(5, -1).values[:, -1:]
    filtered = torch.where(logits < k, torch.full_like(logits, -float("inf")), logits)
    dist = torch.distributions.Categorical(logits=filtered)
    act = dist.sample()
    loss = -(F.log_softmax(logits, -1).gather(1, act[:, None]).squeeze(1) * torch.randn(6)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
