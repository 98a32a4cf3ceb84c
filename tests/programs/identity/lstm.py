import torch
from digest import show
from torch import nn

torch.manual_seed(0)
embed, rnn, head = nn.Embedding(20, 8), nn.LSTM(8, 16, num_layers=2, dropout=0.2, batch_first=True), nn.Linear(16, 20)
model = nn.ModuleList([embed, rnn, head])
opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
state = None
for step in range(6):
    tokens = torch.randint(20, (3, 7))
    out, state = rnn(embed(tokens[:, :-1]), state)
    state = tuple(s.detach() for s in state)
    loss = nn.functional.cross_entropy(head(out).flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    opt.step()
    print(step, loss.item().hex())
show(model, opt, state)
