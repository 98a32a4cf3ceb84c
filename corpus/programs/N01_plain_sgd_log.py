#cause: log-of-zero
#phase: forward
#step: 3
import torch
torch.manual_seed(0)
w = torch.randn(5, 3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
def predict(x):
    return torch.sigmoid(x @ w + b)
def nll(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # ORIGIN
for step in range(6):
    x = torch.randn(16, 5)
    if step == 3:
        x = x * 60  # CAUSE
    y = torch.randint(0, 2, (16, 3)).float()
    loss = nll(predict(x), y)
    loss.backward()
    for p in (w, b):
        p.data -= 0.1 * p.grad
        p.grad = None
    print(step, loss.item())
