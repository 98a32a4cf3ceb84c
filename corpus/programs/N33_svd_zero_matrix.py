#cause: degenerate-decomposition
#phase: backward
#step: 1
import torch
torch.manual_seed(0)
U = torch.nn.Parameter(torch.randn(5, 4))
opt = torch.optim.Adam([U], 1e-2)
for step in range(4):
    gate = torch.ones(5, 1)
    if step == 1:
        gate[:] = 0  # CAUSE
    u, s, vh = torch.linalg.svd(U * gate, full_matrices=False)  # ORIGIN
    loss = (u[:, 0] * vh[0].sum()).sum() + s.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
