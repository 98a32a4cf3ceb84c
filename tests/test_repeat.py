"""A step run twice: what differs is named with why, as far as further runs tell it; what is benign ends no run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch import Result, plain, watched

PROGRAM = """
import itertools, os
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(2)
calls = itertools.count()
lib = torch.library.Library("planted", "DEF")
lib.define("op(Tensor x) -> Tensor")
def op(x):
    y = x.clone()
    OP
    return y
lib.impl("op", op, "CPU")
class Planted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.ops.planted.op(x)  # <- here
    @staticmethod
    def backward(ctx, g):
        return g
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 64), nn.Linear(64, 1)
    def forward(self, x):
        h = torch.tanh(self.up(x))
        BODY
        return self.down(h)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(6):
    loss = net(torch.randn(16, 8)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
"""
PLANT = "h = Planted.apply(h)"


def program(body: str, op: str = "pass") -> str:
    return PROGRAM.replace("BODY", body).replace("OP", op)


def repeated(folder: Path, source: str, every: int = 3) -> Result:
    return watched(folder, source, options=("--check", f"repeat={every}"))


def line(source: str, text: str) -> int:
    return next(n for n, one in enumerate(source.strip().splitlines(), 1) if text in one)


# fault -> (what the module does, what the operator does, text of the line, what the evidence says)
FAULTS = {
    "race": (
        PLANT, "torch.get_num_threads() > 1 and y.add_(int.from_bytes(os.urandom(2), 'little') + 1)", "<- here",
        "on one thread two runs are equal to the bit: its threads race",
    ),
    "hardware": (
        PLANT, "y.add_(int.from_bytes(os.urandom(2), 'little') + 1)", "<- here",
        "on one thread two runs differ as well",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_an_operator_that_differs_by_itself_ends_the_run(fault: str, tmp_path: Path) -> None:
    body, op, text, evidence = FAULTS[fault]
    source = program(body, op)
    ran = repeated(tmp_path, source)
    report = ran.found
    cause, origin = report["causes"][0], report["origin"]
    assert (report["verdict"], report["trip"]["where"], report["trip"]["step"]) == ("mismatch", "repeat", 0)
    assert (cause["id"], cause["confidence"], ran.status) == ("not-repeatable", "proved", 1)
    assert (origin["line"], origin["op"], origin["phase"]) == (line(source, text), "planted.op.default", "forward")
    assert any(evidence in text for text in cause["evidence"]), cause["evidence"]


def test_memory_that_nobody_has_written(tmp_path: Path) -> None:
    body = (
        "freed = torch.empty(16, 64); import ctypes; "
        "ctypes.memset(freed.data_ptr(), 0x3e + next(calls) % 3, freed.nbytes); del freed; "
        "h = h + torch.empty(16, 64).nan_to_num(0, 4, -4).clamp(-4, 4)"
    )
    source = program(body)
    ran = repeated(tmp_path, source)
    cause, origin = ran.found["causes"][0], ran.found["origin"]
    assert (cause["id"], origin["line"], origin["op"]) == (
        "not-repeatable",
        line(source, "ctypes.memset"),
        "aten.nan_to_num.default",
    )
    assert any("allocated and never written" in text for text in cause["evidence"])


def test_memory_that_something_else_writes(tmp_path: Path) -> None:
    source = program("h = h * gain").replace(
        "net = Net()", "gain = torch.ones(64)\nnet = Net()"
    ).replace(PLANT, "").replace(
        "h = torch.tanh(self.up(x))",
        "import ctypes; ctypes.memset(gain.data_ptr(), 0x3e + next(calls) % 3, gain.nbytes); h = torch.tanh(self.up(x))",
    )  # fmt: skip
    cause = repeated(tmp_path, source).found["causes"][0]
    assert cause["id"] == "not-repeatable"
    assert any("no operator of the step has written them" in text for text in cause["evidence"]), cause["evidence"]


@pytest.mark.parametrize(
    ("body", "op", "said"),
    [
        (PLANT, "y.mul_(1 + (os.urandom(1)[0] + 1) * 1e-7)", "planted.op.default at program.py"),
        ("h = h * (os.urandom(1)[0] + 1)", "pass", "numbers or state from outside torch"),
        ("h = h * 2 if next(calls) % 2 else h + 1", "pass", "numbers or state from outside torch"),
    ],
    ids=["rounding", "a-number-from-outside", "another-path"],
)  # fmt: skip
def test_what_is_benign_is_told_and_ends_no_run(body: str, op: str, said: str, tmp_path: Path) -> None:
    ran = repeated(tmp_path, program(body, op))
    assert (ran.status, ran.found["verdict"]) == (0, "finite")
    assert "run twice, is not equal to the bit" in ran.err
    assert said in ran.err


def test_a_step_that_repeats_is_left_alone_to_the_bit(tmp_path: Path) -> None:
    source = program("h = torch.nn.functional.dropout(h, 0.3)")
    ran = repeated(tmp_path, source, 1)
    assert (ran.status, ran.found["verdict"]) == (0, "finite")
    assert "run twice" not in ran.err
    assert ran.out == plain(tmp_path / "plain", source).out
