#cause: fully-masked-row
#phase: forward backward
#step: 1
import torch
import torch.nn.functional as F
torch.manual_seed(0)
wq, wk, wv = [torch.nn.Parameter(torch.randn(8, 8) * 0.2) for _ in range(3)]
opt = torch.optim.SGD([wq, wk, wv], lr=0.01)
for step in range(4):
    x = torch.randn(2, 5, 8)
    keep = torch.ones(2, 1, 5, 5, dtype=torch.bool).tril()
    if step == 1:
        keep[0, 0, 0] = False  # CAUSE
    bias = torch.zeros(2, 1, 5, 5).masked_fill(~keep, float("-inf"))
    q, k, v = [(x @ w).view(2, 5, 2, 4).transpose(1, 2) for w in (wq, wk, wv)]
    score = q @ k.transpose(-1, -2) / 2 + bias
    att = torch.exp(score - score.amax(-1, keepdim=True))  # ORIGIN
    o = (att / att.sum(-1, keepdim=True)) @ v
    loss = o.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
