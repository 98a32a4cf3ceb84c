import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
import copy
from torch.optim.swa_utils import AveragedModel
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
ema = AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True)
opt = torch.optim.AdamW([{"params": net[0].parameters(), "lr": 1e-4}, {"params": net[4].parameters()}], 1e-3, fused=True)
for step in range(8):
    loss = F.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)), label_smoothing=0.1) / 2
    loss.backward()
    if step % 2:
        opt.step()
        opt.zero_grad(set_to_none=False)
        ema.update_parameters(net)
    print(step, loss.item(), ema(torch.ones(2, 4)).sum().item())
