"""A checkpointed transformer of 12 layers under autocast. FAULT plants one fault in layer 5; without it all is well."""

import ctypes
import itertools
import os

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

FAULT = os.environ.get("FAULT", "")
AT, WIDTH, HEADS, LENGTH = 5, 32, 4, 12
CALLS = itertools.count()
torch.manual_seed(0)
torch.set_num_threads(1)


class Again(torch.autograd.Function):
    """A checkpoint written by hand that forgets autocast."""

    @staticmethod
    def forward(ctx, block, x, *weights):
        ctx.block, ctx.weights = block, weights
        ctx.save_for_backward(x)
        with torch.no_grad():
            return block(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            out = ctx.block(x)  # <- Again
        return (None, *torch.autograd.grad(out, (x, *ctx.weights), grad, allow_unused=True))


class Pool:
    """Saved tensors go to host memory, and come back through one staging buffer."""

    def __init__(self):
        self.staging = torch.zeros(1 << 16)

    def pack(self, tensor):
        return tensor if isinstance(tensor, nn.Parameter) else (tensor.clone(), tensor.dtype)

    def unpack(self, packed):
        if isinstance(packed, torch.Tensor):
            return packed
        host, dtype = packed
        if dtype != torch.float32 or host.numel() > len(self.staging):
            return host
        return self.staging[: host.numel()].copy_(host.flatten()).view(host.shape)  # <- reused


class Attention(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.faulty, self.cache = faulty, None

    def forward(self, x):
        q, k, v = self.qkv(x).view(len(x), -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        if self.faulty and FAULT == "cache":
            if self.cache is not None:
                k = torch.cat([self.cache, k], 2)  # <- cache
                v = torch.cat([torch.zeros_like(v), v], 2)
            self.cache = k.detach()
        h = F.scaled_dot_product_attention(q, k, v)
        return self.out(h.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.faulty = index == AT
        self.norm, self.attention = nn.LayerNorm(WIDTH), Attention(self.faulty)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        if self.faulty and FAULT == "buffer":
            self.batch_norm = nn.BatchNorm1d(LENGTH)

    def forward(self, x):
        h = x + self.attention(self.norm(x))  # <- input
        if self.faulty and FAULT == "buffer":
            h = self.batch_norm(h)
        u = self.up(h)
        fast = self.faulty and FAULT == "kernel" and not torch.is_grad_enabled()
        u = F.gelu(u, approximate="tanh" if fast else "none")  # <- kernel
        if self.faulty and FAULT == "unwritten":
            freed = torch.empty(1, LENGTH, 2 * WIDTH)  # what was freed last is what is found
            ctypes.memset(freed.data_ptr(), 0x3E + next(CALLS) % 3, freed.nbytes)
            del freed
            u = u + torch.empty(1, LENGTH, 2 * WIDTH).nan_to_num(0, 4, -4).clamp(-4, 4)  # <- unwritten
        return h + F.dropout(self.down(u), 0.1, self.training)  # <- random


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, WIDTH)
        self.stem = nn.BatchNorm1d(LENGTH)
        self.blocks = nn.ModuleList(Block(i) for i in range(12))
        self.head = nn.Linear(WIDTH, 16)
        self.pool = Pool()

    def call(self, block, x):
        if not block.faulty:
            return checkpoint(block, x, use_reentrant=False)
        if FAULT == "random":
            return checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)  # <- random block
        if FAULT == "autocast":
            return Again.apply(block, x, *block.parameters())
        if FAULT == "reused":
            with torch.autograd.graph.saved_tensors_hooks(self.pool.pack, self.pool.unpack):
                return block(x)
        if FAULT == "":
            with torch.autograd.graph.save_on_cpu():
                return checkpoint(block, x, use_reentrant=False)
        return checkpoint(block, x, use_reentrant=FAULT == "kernel")  # <- twice

    def forward(self, tokens):
        x = self.stem(self.embed(tokens))
        for block in self.blocks:
            before = x
            x = self.call(block, x)
            if block.faulty and FAULT == "input":
                before.data.mul_(0.9)
            if block.faulty:
                block.attention.cache = block.attention.cache if FAULT == "cache" else None
        return self.head(x)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    tokens = torch.randint(0, 16, (4, LENGTH))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten())
    for block in net.blocks:
        block.attention.cache = block.attention.cache if FAULT == "cache" and step == 0 else None
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
