#cause: bad-input
#phase: data
#step: 11
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import random
from collections import deque
random.seed(0)
q, target = nn.Linear(4, 2), nn.Linear(4, 2)
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), 1e-3)
memory = deque(maxlen=100)
step = 0
for t in range(40):
    s, r = torch.randn(4), torch.randn(())
    with torch.no_grad():
        a = q(s).argmax().item()
    if t == 22:
        r = r / 0  # CAUSE
    memory.append((s, a, r, torch.randn(4)))
    if t >= 16:
        batch = random.sample(list(memory), 12)
        s, a, r, n = torch.stack([b[0] for b in batch]), torch.tensor([b[1] for b in batch]), torch.stack([b[2] for b in batch]), torch.stack([b[3] for b in batch])
        with torch.no_grad():
            y = r + 0.99 * target(n).max(1).values
        loss = F.smooth_l1_loss(q(s).gather(1, a[:, None]).squeeze(1), y)  # ORIGIN
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, loss.item())
        step += 1
