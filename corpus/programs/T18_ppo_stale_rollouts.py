# ---
# id: T18
# title: PPO on a continuous action; the probability ratio to a stale rollout overflows before it is clipped
# verdict: nonfinite
# cause: exp-overflow
# also_accept: []
# phase: forward
# phase_accept: ["forward"]
# step: [5]
# lines: [55]
# op: aten.exp
# fix: clamp-the-log-ratio
# source: made for this project
# ---
import os
from collections import namedtuple
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
Rollout = namedtuple("Rollout", "obs act logp adv ret")


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.full((1,), -1.0))

    def dist(self, obs):
        return torch.distributions.Normal(self.mu(obs), self.log_std.exp())

    def logp(self, obs, act):
        return self.dist(obs).log_prob(act).sum(-1)


def collect(policy, critic, n, far):
    obs = torch.randn(n, 3)
    with torch.no_grad():
        d = policy.dist(obs)
        act = d.sample()
        if far:
            act[: n // 8] = act[: n // 8] + 5.5 * (1 if far > 0 else -1)
        reward = -(act.squeeze(1) - obs[:, 0] - 2.0).square()
        adv = reward - critic(obs).squeeze(1)
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        return Rollout(obs, act, d.log_prob(act).sum(-1), adv, reward)


def surrogate(policy, roll, clip=0.2):
    log_ratio = policy.logp(roll.obs, roll.act) - roll.logp
    if FIX:
        log_ratio = log_ratio.clamp(-10, 10)
    ratio = log_ratio.exp()  # <-- ORIGIN
    return -torch.min(ratio * roll.adv, ratio.clamp(1 - clip, 1 + clip) * roll.adv).mean(), ratio


def main():
    torch.manual_seed(12)
    policy = Policy()
    critic = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    actor_opt = torch.optim.Adam(policy.parameters(), lr=0.15)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    n = 0
    for it in range(3):
        roll = collect(policy, critic, 64, far=1)
        for epoch in range(4):
            pg, ratio = surrogate(policy, roll)
            entropy = policy.dist(roll.obs).entropy().mean()
            actor_loss = pg - 0.001 * entropy
            value_loss = 0.01 * (critic(roll.obs).squeeze(1) - roll.ret).square().mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()
            critic_opt.zero_grad()
            value_loss.backward()
            critic_opt.step()
            print(f"{n} actor {actor_loss.item():.4f} value {value_loss.item():.4f} max ratio {ratio.max().item():.4g} std {policy.log_std.exp().item():.3f}")
            n += 1


main()
