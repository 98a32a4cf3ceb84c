#cause: exp-overflow
#also: half-overflow
#phase: forward
#step: 4
import argparse
import torch
from torch import nn
class Trainer:
    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.model = nn.Linear(8, 4)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=args.lr)
        self.args = args
    def softmax(self, z):
        e = torch.exp(z)  # ORIGIN
        return e / e.sum(-1, keepdim=True)
    def loss(self, x, y):
        p = self.softmax(self.model(x))
        return -torch.log(p.gather(1, y[:, None]) + 1e-9).mean()
    def fit(self):
        for step in range(self.args.steps):
            x, y = torch.randn(16, 8), torch.randint(0, 4, (16,))
            if step == 4:
                x[3] *= 1000  # CAUSE
            self.opt.zero_grad()
            loss = self.loss(x, y)
            assert torch.isfinite(loss), f"loss is {loss.item()} at {step}"
            loss.backward()
            self.opt.step()
            print(step, loss.item())
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    Trainer(parser.parse_args()).fit()
