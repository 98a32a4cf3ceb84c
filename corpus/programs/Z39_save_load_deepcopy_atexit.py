import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import atexit, copy, io, contextlib
atexit.register(lambda: print("bye"))
net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
opt = torch.optim.AdamW(net.parameters(), 1e-3)
best = None
for step in range(4):
    loss = net(torch.randn(6, 4)).pow(2).mean() + 0 * net[0].weight.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    f = io.BytesIO()
    torch.save({"net": net, "opt": opt.state_dict()}, f)
    f.seek(0)
    clone = torch.load(f, weights_only=False)["net"]
    best = copy.deepcopy(net)
    s = io.StringIO()
    with contextlib.redirect_stdout(s):
        print("hidden", loss.item())
    print(step, s.getvalue().strip(), len(f.getvalue()), all(torch.equal(a, b) for a, b in zip(clone.parameters(), best.parameters())))
