import sys

import torch
import transformers
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP

fault = sys.argv[1]
step = 0


class FaultyMLP(GPT2MLP):
    def forward(self, hidden_states):
        out = super().forward(hidden_states)
        if fault == "layer" and step == 2:
            out = out + torch.log(-hidden_states.square() - 1)  # BAD
        return out


torch.manual_seed(0)
config = transformers.GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2)
model = transformers.GPT2LMHeadModel(config)
model.transformer.h[1].mlp.__class__ = FaultyMLP
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
batches = [(torch.randn(2, 8, 16), torch.randint(50, (2, 8))) for _ in range(4)]
if fault == "data":
    batches[2][0][1, 3, 0] = float("nan")
for step, (embeds, tokens) in enumerate(batches):
    loss = model(inputs_embeds=embeds, labels=tokens).loss
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    print("step", step, "loss", loss.item().hex())
