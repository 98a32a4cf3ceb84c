import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import logging, sys, warnings, inspect
logging.basicConfig(stream=sys.stdout, format="%(filename)s:%(lineno)d %(message)s", level=logging.INFO)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
    def forward(self, x):
        logging.info("forward from %s", inspect.stack()[1].function)
        return self.f(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
def hook(m, a, o):
    logging.info("hook %s", tuple(o.shape))
net.register_forward_hook(hook)
for step in range(3):
    loss = net(torch.randn(2, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    logging.info("loss %s %s %s", loss.item(), torch.Tensor.backward.__name__, opt.step.__qualname__)
print(net, loss, torch.is_tensor(loss), repr(torch.optim.Optimizer.zero_grad.__qualname__))
