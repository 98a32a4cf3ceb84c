#cause: negative-argument
#phase: forward
#step: 0 1 2
import torch
torch.manual_seed(0)
theta = torch.tensor([1.0, 1.0], requires_grad=True)
data = torch.randn(50).abs() + 0.1
opt = torch.optim.LBFGS([theta], lr=1.0, max_iter=10)
def weibull(k, lam):
    z = data / lam
    return -(torch.log(k) - torch.log(lam) + (k - 1) * torch.log(z) - z.pow(k)).mean()  # ORIGIN
for step in range(5):
    def closure():
        opt.zero_grad()
        loss = weibull(theta[0], theta[1]) + 20 * theta[1]
        loss.backward()
        return loss
    loss = opt.step(closure)
    print(step, loss.item(), theta.tolist())
