#cause: empty-reduction
#also: division-by-zero
#phase: forward
#step: 2
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
torch.manual_seed(0)
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 8, batch_first=True)
        self.out = nn.Linear(8, 3)
    def forward(self, x, n):
        h, _ = self.lstm(pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False))
        return self.out(pad_packed_sequence(h, batch_first=True, total_length=x.shape[1])[0])
net = Tagger()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(4):
    x, n = torch.randn(4, 7, 5), torch.randint(1, 8, (4,))
    y = torch.randint(0, 3, (4, 7))
    y[torch.arange(7)[None] >= n[:, None]] = -100
    if step == 2:
        y[:] = -100  # CAUSE
    logits = net(x, n)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-100)  # ORIGIN
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    print(step, loss.item())
