#cause: division-by-zero
#also: single-element-spread
#phase: forward param
#step: 0 2 3
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(3, 1)
theta = nn.utils.parameters_to_vector(net.parameters()).detach()
for step in range(5):
    noise = torch.randn(8, len(theta))
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    scores = []
    for e in noise:
        nn.utils.vector_to_parameters(theta + 0.1 * e, net.parameters())
        with torch.no_grad():
            scores.append(-(net(x) - y).pow(2).mean() if step != 2 else torch.tensor(-1.0))  # CAUSE
    s = torch.stack(scores)
    s = (s - s.mean()) / s.std()  # ORIGIN
    theta = theta + 0.01 * (s[:, None] * noise).mean(0)
    print(step, theta.norm().item())
