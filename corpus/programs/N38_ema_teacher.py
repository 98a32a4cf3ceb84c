#cause: division-by-zero
#phase: param optimizer forward
#step: 3 4
import copy
import torch
from torch import nn
torch.manual_seed(0)
student = nn.Linear(4, 4)
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), 0.1)
@torch.no_grad()
def update(step):
    n = 3 - step
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.add_((s - t) / torch.tensor(float(n)))  # ORIGIN
for step in range(6):
    x = torch.randn(8, 4)
    loss = (student(x) - teacher(x)).pow(2).mean() + student(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    update(step)
    print(step, loss.item())
