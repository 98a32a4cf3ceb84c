"""The models that nanscope and its peers are measured on, each with its training loop.

Every size has a `small` variant, with which the tests check that watching changes no bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

BATCHES = 8  # made beforehand, and used in turn: making them is no part of a step


@dataclass
class Training:
    """A model under training. `step` is what is timed: one batch, from the forward pass to the number of its loss."""

    model: nn.Module  # what an outsider instruments; under DDP the module inside
    optimizer: torch.optim.Optimizer
    batches: list[tuple[Any, ...]]  # arguments of the model, then the target
    criterion: Callable[[Any, Any], torch.Tensor]
    middle: nn.Module | None  # a module halfway whose output is one tensor; None where there are no modules
    called: Callable[..., Any] | None = None  # what the loop calls, where that is not `model`
    clip: float | None = None
    scaler: torch.amp.GradScaler | None = None
    schedule: Any = None
    part: tuple[int, int, str] | None = (
        None  # rank, number of ranks, working directory; None in a program of one process
    )
    _turn: Iterator[tuple[Any, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._turn = itertools.cycle(self.batches)
        if self.called is None:
            self.called = self.model

    def batch(self) -> tuple[Any, ...]:
        return next(self._turn)

    def forward(self, *inputs: Any) -> Any:
        assert self.called is not None
        return self.called(*inputs)

    def loss(self) -> torch.Tensor:
        *inputs, target = self.batch()
        return self.criterion(self.forward(*inputs), target)

    def update(self, loss: torch.Tensor) -> float:
        self.optimizer.zero_grad()
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        if self.schedule is not None:
            self.schedule.step()
        return loss.item()

    def step(self) -> float:
        return self.update(self.loss())


# ---- modules


class Attention(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.n1, self.attn, self.n2 = nn.LayerNorm(d), Attention(d, heads), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, vocab: int, d: int, depth: int, heads: int, context: int) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(context, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tok(ids) + self.pos.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Recurrent(nn.Module):
    def __init__(self, vocab: int, d: int) -> None:
        super().__init__()
        self.embed, self.lstm = nn.Embedding(vocab, d), nn.LSTM(d, d, 2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embed(ids))[0])


class Plain(nn.Module):
    """Holds weights only: the loop computes with functions, so that every operator is an event of the tape."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(width, width) * 0.1 for _ in range(depth))


# ---- trainings


def tokens(vocab: int, batch: int, length: int) -> list[tuple[Any, ...]]:
    made = [torch.randint(vocab, (batch, length + 1)) for _ in range(BATCHES)]
    return [(ids[:, :-1].contiguous(), ids[:, 1:].contiguous()) for ids in made]


def of_tokens(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), ids.flatten())


def mlp(small: bool = False) -> Training:
    d = 16 if small else 320
    model = nn.Sequential(nn.Linear(128, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 10))
    batches = [(torch.randn(128, 128), torch.randint(10, (128,))) for _ in range(BATCHES)]
    return Training(model, torch.optim.Adam(model.parameters(), lr=1e-3), batches, F.cross_entropy, model[2])


def scaled(small: bool = False) -> Training:
    """Without autocast, which a CPU is slow with: what is measured is the scaler's part and the schedule's."""
    training = mlp(small)
    training.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    training.schedule = torch.optim.lr_scheduler.LambdaLR(training.optimizer, lambda step: 1 / (1 + 1e-4 * step))
    return training


def cnn(small: bool = False) -> Training:
    layers: list[nn.Module] = []
    widths = (3, 4, 4) if small else (3, 32, 64, 64)
    for a, b in itertools.pairwise(widths):
        layers += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2)]
    side = 32 >> (len(widths) - 1)
    model = nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.1), nn.Linear(widths[-1] * side * side, 10))
    batches = [(torch.randn(16, 3, 32, 32), torch.randint(10, (16,))) for _ in range(BATCHES)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return Training(model, optimizer, batches, F.cross_entropy, model[4])


def gpt(d: int, depth: int, batch: int, length: int, vocab: int = 1000) -> Training:
    model = GPT(vocab, d, depth, d // 32, length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    middle = model.blocks[depth // 2].mlp
    return Training(model, optimizer, tokens(vocab, batch, length), of_tokens, middle, clip=1.0)


def gpt25(small: bool = False) -> Training:
    return gpt(32, 2, 2, 16, 50) if small else gpt(128, 4, 4, 64)


def gpt120(small: bool = False) -> Training:
    return gpt(64, 3, 2, 16, 50) if small else gpt(192, 4, 6, 128)


def lstm(small: bool = False) -> Training:
    vocab, d, length = (50, 16, 8) if small else (500, 128, 32)
    model = Recurrent(vocab, d)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Training(model, optimizer, tokens(vocab, 16, length), of_tokens, model.embed, clip=1.0)


def llama(small: bool = False) -> Training:
    from transformers import LlamaConfig, LlamaForCausalLM

    d, depth, length = (32, 2, 8) if small else (128, 4, 64)
    config = LlamaConfig(
        vocab_size=500, hidden_size=d, intermediate_size=3 * d, num_hidden_layers=depth, num_attention_heads=4,
        max_position_embeddings=length,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    middle = model.model.layers[depth // 2].mlp

    def criterion(out: Any, ids: torch.Tensor) -> torch.Tensor:
        return of_tokens(out.logits, ids)

    return Training(model, optimizer, tokens(500, 4, length), criterion, middle, clip=1.0)


def functions(small: bool = False) -> Training:
    model = Plain(16 if small else 128, 8)
    weights = list(model.weights)

    def forward(x: torch.Tensor) -> torch.Tensor:
        for weight in weights:
            x = torch.tanh(x @ weight)
        return x

    def criterion(x: torch.Tensor, _: Any) -> torch.Tensor:
        return x.square().mean()

    batches = [(torch.randn(128, weights[0].shape[0]), None) for _ in range(BATCHES)]
    return Training(model, torch.optim.SGD(weights, lr=1e-3), batches, criterion, None, called=forward)


def ddp(small: bool = False) -> Training:
    """One rank's share; the process group is the caller's."""
    training = gpt(32, 2, 2, 16, 50) if small else gpt(128, 4, 4, 64)
    training.called = nn.parallel.DistributedDataParallel(training.model)
    return training


@dataclass(frozen=True)
class Spec:
    """A row of the tables. `aim` is the largest ratio that the watch is meant to have."""

    title: str
    build: Callable[[bool], Training]
    ranks: int = 1
    modules: bool = True
    aim: float | None = None


MODELS = {
    "mlp": Spec("MLP 128-320-320-10, batch 128, Adam", mlp, aim=1.06),
    "scaled": Spec("the MLP under a `GradScaler`, with a learning-rate schedule", scaled),
    "cnn": Spec("CNN, 3 convolutions with batch norm and dropout, SGD", cnn, aim=1.03),
    "gpt25": Spec("GPT-like, 4 blocks of width 128, context 64, AdamW, clipping", gpt25, aim=1.03),
    "gpt120": Spec("GPT-like, 4 blocks of width 192, context 128, AdamW, clipping", gpt120, aim=1.02),
    "lstm": Spec("LSTM, 2 layers of width 128, 32 steps of time, AdamW, clipping", lstm),
    "llama": Spec("`transformers` Llama from a config, 4 layers of width 128", llama),
    "functions": Spec("8 layers of plain functions, no module, SGD", functions, modules=False),
    "ddp": Spec("the smaller GPT-like model under DDP, 2 ranks, gloo", ddp, ranks=2),
}


def build(name: str, small: bool = False, seed: int = 0) -> Training:
    """The training of one row, from the same state every time."""
    torch.manual_seed(seed)
    return MODELS[name].build(small)
