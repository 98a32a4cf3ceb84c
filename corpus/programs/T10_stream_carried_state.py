# ---
# id: T10
# title: sensor stream with carried GRU state and truncated backpropagation; a dropped reading is parsed as nan and stays in the state
# verdict: nonfinite
# cause: bad-input
# also_accept: []
# phase: data
# phase_accept: ["data", "forward"]
# step: [4]
# lines: [37]
# line_scored: false
# fix: hold-last-value
# source: made for this project
# ---
import math
import os
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
torch.set_num_threads(1)
torch.manual_seed(17)


def logger_text(n):
    """what the data logger wrote: one reading per line"""
    rows = []
    for i in range(n):
        v = math.sin(i / 5) + 0.3 * math.sin(i / 1.7)
        rows.append(f"{i};{v:.4f}" if i != 93 else f"{i};NaN")
    return "\n".join(rows)


def parse(text):
    values = []
    for row in text.splitlines():
        v = float(row.split(";")[1])  # <-- ORIGIN
        if FIX and math.isnan(v):
            v = values[-1]
        values.append(v)
    return torch.tensor(values)


class Forecaster(nn.Module):
    def __init__(self, hidden=14):
        super().__init__()
        self.cell = nn.GRUCell(1, hidden)
        self.read = nn.Linear(hidden, 1)
        self.hidden = hidden

    def start(self, n):
        return torch.zeros(n, self.hidden)

    def forward(self, chunk, state):
        out = []
        for x in chunk.unbind(1):
            state = self.cell(x.unsqueeze(1), state)
            out.append(self.read(state).squeeze(1))
        return torch.stack(out, 1), state


def main():
    series = parse(logger_text(201))
    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    state = model.start(1)
    window = 20
    for k, lo in enumerate(range(0, 200, window)):
        chunk = series[lo:lo + window + 1].unsqueeze(0)
        pred, state = model(chunk[:, :-1], state)
        loss = (pred - chunk[:, 1:]).square().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        state = state.detach()
        print(f"window {k} [{lo}:{lo + window}] loss {loss.item():.5f} |state| {state.norm().item():.4f}")


main()
