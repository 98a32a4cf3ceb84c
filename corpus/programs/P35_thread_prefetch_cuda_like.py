#cause: bad-input
#phase: data
#step: 2
#scored: 0
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import threading, queue
def produce(q):
    g = torch.Generator().manual_seed(1)
    for i in range(4):
        x = torch.randn(8, 4, generator=g)
        if i == 2:
            x[1, 1] = float("inf")  # CAUSE
        q.put((x * 2.0 + 1.0, x.sum(1)))
    q.put(None)
q = queue.Queue(2)
threading.Thread(target=produce, args=(q,), daemon=True).start()
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.01)
step = 0
while (item := q.get()) is not None:
    x, y = item
    loss = (net(x).squeeze(1) - y.clamp(-9, 9)).pow(2).mean()  # ORIGIN
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
    step += 1
