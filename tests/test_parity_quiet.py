"""Healthy programs that a comparison of recomputation could take for faulty: each is left alone, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch import plain, watched
from tests.test_recompute import NET, compared, looked
from tests.test_recompute import TOLD as COUNTED

END = """
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
"""
PROGRAMS = {
    "an element of a counter moves with every execution": """
counts = torch.zeros(3)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def run(x):
    counts[0] += 1
    counts[1:][0] += 2
    return torch.tanh(net(x))
for step in range(4):
    loss = checkpoint(run, torch.randn(8, 4), use_reentrant=False).square().mean() + 0 * counts.sum()
    print(counts.tolist())""",
    "a loop over one cell, in chunks": """
cell = nn.GRUCell(3, 5)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
def run(h, xs):
    for x in xs:
        h = cell(x, h)
    return h
for step in range(4):
    h = torch.zeros(6, 5)
    for xs in torch.randn(9, 6, 3).split(3):
        h = checkpoint(run, h, xs, use_reentrant=False)
    loss = h.square().mean()""",
    "an adjoint evaluates the field elsewhere in backward": """
field = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.SGD(field.parameters(), lr=0.05)
class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y, *weights):
        with torch.no_grad():
            for _ in range(4):
                y = y + 0.25 * field(y)
        ctx.save_for_backward(y)
        ctx.weights = weights
        return y
    @staticmethod
    def backward(ctx, a):
        y, = ctx.saved_tensors
        sums = [torch.zeros_like(w) for w in ctx.weights]
        for _ in range(4):
            with torch.enable_grad():
                at = y.detach().requires_grad_()
                f = field(at)
                parts = torch.autograd.grad(f, (at, *ctx.weights), a)
            y = y - 0.25 * f.detach()
            a = a + 0.25 * parts[0]
            sums = [s + 0.25 * p for s, p in zip(sums, parts[1:])]
        return (a, *sums)
for step in range(4):
    loss = (Adjoint.apply(torch.randn(8, 3), *field.parameters()) - 1).square().mean()""",
    "compression that leaves small tensors alone": """
from torch.autograd.graph import saved_tensors_hooks
net = nn.Sequential(nn.Linear(8, 64), nn.LayerNorm(64), nn.Tanh(), nn.LayerNorm(64), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
def pack(t):
    return t.to(torch.bfloat16) if t.numel() >= 1024 and t.dtype == torch.float32 else t
def unpack(t):
    return t.float() if t.dtype == torch.bfloat16 else t
for step in range(4):
    with saved_tensors_hooks(pack, unpack):
        loss = net(torch.randn(32, 8)).square().mean()""",
    "batch norm outside the block, gradients accumulated": """
norm, block = nn.BatchNorm1d(4), nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.2), nn.Tanh())
opt = torch.optim.SGD([*norm.parameters(), *block.parameters()], lr=0.1)
for step in range(4):
    (checkpoint(block, norm(torch.randn(8, 4)), use_reentrant=False).square().mean() / 2).backward()
    loss = checkpoint(block, norm(torch.randn(8, 4)), use_reentrant=False).square().mean() / 2""",
    "a GradScaler that skips": """
net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    loss = checkpoint(nn.Tanh(), net(torch.randn(8, 4)), use_reentrant=False).square().mean()
    scaler.scale(loss * 4096).backward()
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
    print(step, loss.item().hex(), scaler.get_scale())
    continue""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_left_alone(name: str, tmp_path: Path) -> None:
    code = NET + PROGRAMS[name] + END
    bare = plain(tmp_path / "plain", code)
    for options in ((), ("--check", "recompute")):
        ran = watched(tmp_path / f"watched{len(options)}", code, options=options)
        assert bare.status == 0, bare.err
        assert (ran.status, ran.found["verdict"], ran.out) == (0, "finite", bare.out), ran.err


def test_checkpointing_that_begins_late_is_compared(tmp_path: Path) -> None:
    code = f"""{COUNTED}{NET}
block = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
opt = torch.optim.SGD(block.parameters(), lr=0.1)
for step in range(90):
    x = torch.randn(8, 4)
    y = checkpoint(block, x, use_reentrant=False, preserve_rng_state=step < 80) if step >= 70 else block(x)
    loss = y.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    ran = watched(tmp_path, code)
    assert ran.status == 0, ran.err
    assert compared(ran.err) == ["compared True True 0"]
    assert len(looked(ran.err)) == 2  # the step, and its replay


def test_each_of_two_optimizers_has_its_own_comparison(tmp_path: Path) -> None:
    code = f"""{COUNTED}{NET}
first, second = nn.Linear(4, 4), nn.Linear(4, 4)
opts = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (first, second)]
def run(x):
    return nn.functional.dropout(torch.tanh(second(x)), 0.5)
for step in range(4):
    for net, opt in zip((first, run), opts):
        loss = checkpoint(net, torch.randn(8, 4), use_reentrant=False, preserve_rng_state=net is first).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
    ran = watched(tmp_path, code)
    assert (ran.status, ran.found["verdict"]) == (1, "mismatch"), ran.err


def test_gradients_of_another_optimizer_may_be_thrown_away_before_the_step(tmp_path: Path) -> None:
    code = f"""{COUNTED}{NET}
block, other = nn.Linear(4, 4), nn.Linear(4, 4)
opt, second = torch.optim.SGD(block.parameters(), lr=0.1), torch.optim.SGD(other.parameters(), lr=0.1)
def run(x):
    return nn.functional.dropout(torch.tanh(block(x)), 0.5)
for step in range(6):
    loss = checkpoint(run, torch.randn(8, 4), use_reentrant=False, preserve_rng_state=step != 3).square().mean()
    opt.zero_grad()
    loss.backward()
    second.zero_grad()
    opt.step()
"""
    ran = watched(tmp_path, code, options=("--check", "recompute=3"))
    assert (ran.found["verdict"], ran.found["trip"]["step"]) == ("mismatch", 3), ran.err
