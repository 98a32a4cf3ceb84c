"""A small vision transformer in mixed precision. In one block the attention logits have grown large."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        logits = q @ k.transpose(-2, -1)
        weights = (logits * q.shape[-1] ** -0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, width=64, heads=2, depth=3, classes=5):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


def sharpen(block, direction):
    """What months of training do to one attention layer: queries and keys line up along one direction."""
    weight, head = block.attention.qkv.weight, 32
    with torch.no_grad():
        weight[:128].mul_(4.0)
        weight[:head] += 8.5 * direction
        weight[64 : 64 + head] += 8.5 * direction


torch.manual_seed(0)
model = VisionTransformer()
sharpen(model.blocks[1], F.normalize(model.patch.weight.sum((1, 2, 3)), dim=0))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

for step in range(10):
    images, labels = torch.randn(8, 3, 16, 16), torch.randint(0, 5, (8,))
    if step == 6:
        images[2] = 6.0  # an overexposed photograph
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(images)
    loss = F.cross_entropy(logits.float(), labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
