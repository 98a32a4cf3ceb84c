#cause: singular-matrix
#phase: forward backward
#step: 1
import torch
torch.manual_seed(0)
A = torch.nn.Parameter(torch.eye(3) + 0.1 * torch.randn(3, 3))
opt = torch.optim.SGD([A], lr=0.01)
for step in range(3):
    x = torch.randn(3, 3)
    if step == 1:
        x[2] = x[1]  # CAUSE
    m = x @ A
    loss = torch.logdet(m @ m.T)  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
