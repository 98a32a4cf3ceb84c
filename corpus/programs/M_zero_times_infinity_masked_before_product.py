# ---
# id: M15
# title: healthy: entropy over allowed actions only; the -inf log-probabilities are replaced before they meet a zero
# verdict: finite
# cause: none
# near: zero-times-infinity
# source: made for this project
# ---
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(14)
policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 6))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)


def act(obs, allowed):
    logits = policy(obs).masked_fill(~allowed, float("-inf"))
    logp = logits.log_softmax(-1)
    p = logp.exp()
    entropy = -(p * logp.masked_fill(~allowed, 0.0)).sum(-1)
    choice = torch.multinomial(p.detach(), 1)
    return choice, logp.gather(1, choice).squeeze(1), entropy


baseline = 0.0
for step in range(60):
    obs = torch.randn(64, 4)
    allowed = torch.rand(64, 6) > 0.4
    allowed[:, 0] = True
    choice, logp, entropy = act(obs, allowed)
    reward = obs.gather(1, choice.clamp(max=3)).squeeze(1)
    advantage = reward - baseline
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    loss = -(logp * advantage).mean() - 0.01 * entropy.mean()  # changes its sign, as policy losses do
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step} loss {loss.item():+.4f} reward {reward.mean().item():+.4f}")
