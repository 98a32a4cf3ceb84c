# ---
# id: M14
# title: healthy: logits in the thousands through logsumexp and softmax, which subtract the maximum first
# verdict: finite
# cause: none
# near: exp-overflow
# source: made for this project
# ---
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(13)
net = nn.Linear(6, 5)
temperature = nn.Parameter(torch.tensor(6.5))  # exp(6.5) = 665
opt = torch.optim.Adam([{"params": net.parameters(), "lr": 2e-2}, {"params": [temperature], "lr": 2e-2}])
for step in range(50):
    x = torch.randn(64, 6)
    y = x[:, :5].argmax(1)
    logits = net(x) * temperature.exp()
    nll = (torch.logsumexp(logits, 1) - logits.gather(1, y[:, None]).squeeze(1)).mean()
    soft = F.softplus(logits).mean()  # linear beyond 20, no exp
    loss = nll + 1e-4 * soft
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        temperature.clamp_(max=7.0)
    if step % 10 == 0:
        print(step, loss.item(), logits.abs().max().item())
