import torch
from digest import show
from torch import nn

torch.manual_seed(0)
body, actor, critic = nn.Linear(4, 16), nn.Linear(16, 3), nn.Linear(16, 1)
model = nn.ModuleList([body, actor, critic])
opt = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-5)


def act(state):
    h = torch.tanh(body(state))
    return torch.distributions.Categorical(logits=actor(h)), critic(h).squeeze(-1)


for update in range(3):
    memory = []
    state = torch.randn(6, 4)
    with torch.no_grad():
        for _ in range(5):
            policy, value = act(state)
            action = policy.sample()
            memory.append((state, action, policy.log_prob(action), value, (action - 1) * state[:, 0]))
            state = 0.9 * state + 0.1 * torch.randn(6, 4)
    states, actions, old, values, rewards = map(torch.cat, zip(*memory, strict=True))
    advantage = rewards - values
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(2):
        for batch in torch.randperm(30).split(10):
            policy, value = act(states[batch])
            ratio = (policy.log_prob(actions[batch]) - old[batch]).exp()
            surrogate = torch.min(ratio * advantage[batch], ratio.clamp(0.8, 1.2) * advantage[batch])
            loss = -surrogate.mean() + 0.5 * (value - rewards[batch]).square().mean() - 0.01 * policy.entropy().mean()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
            print(update, loss.item().hex())
show(model, opt)
