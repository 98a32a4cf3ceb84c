import sys

import torch
import transformers
from transformers.models.llama.modeling_llama import LlamaMLP

fault = sys.argv[1]
step = 0


class FaultyMLP(LlamaMLP):
    def forward(self, x):
        out = super().forward(x)
        if fault == "layer" and step == 2:
            out = out + torch.log(-x.square() - 1)  # BAD
        return out


torch.manual_seed(0)
config = transformers.LlamaConfig(
    vocab_size=50,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
)
model = transformers.LlamaForCausalLM(config)
model.model.layers[1].mlp.__class__ = FaultyMLP
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
