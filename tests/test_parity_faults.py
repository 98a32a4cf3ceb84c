"""One fault for each reason why backward gets something else than forward had, in layer 5 of 12: the first operator that
differs is named, with its line, its module and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch import PROGRAMS, plain, watched
from tests.test_recompute import NET

PROGRAM = PROGRAMS / "parity.py"
BLOCK = "blocks.5"
# fault -> cause, marker of the line, operator, module, what the evidence says
FAULTS = {
    "random": (
        "recompute-mismatch",
        "random block",
        "bernoulli_",
        BLOCK,
        "the random state of forward was not put back",
    ),
    "autocast": (
        "recompute-mismatch",
        "Again",
        "addmm",
        f"{BLOCK}.attention.qkv",
        "was bfloat16 in forward and off in",
    ),
    "buffer": ("recompute-mismatch", "twice", "native_batch_norm", f"{BLOCK}.batch_norm", "updated twice in one step"),
    "input": (
        "recompute-mismatch",
        "input",
        "native_layer_norm",
        f"{BLOCK}.norm",
        "was changed in place between the two",
    ),
    "cache": ("recompute-mismatch", "cache", "cat", f"{BLOCK}.attention", "is run in the recomputation only"),
    "kernel": ("recompute-mismatch", "kernel", "gelu", BLOCK, "approximate was tanh in forward and none in"),
    "unwritten": (
        "recompute-mismatch",
        "unwritten",
        "nan_to_num",
        BLOCK,
        "memory that was allocated and never written",
    ),
    "reused": (
        "buffer-reused",
        "reused",
        "copy_",
        f"{BLOCK}.norm",
        "wrote into that memory after the tensor was packed",
    ),
}


def line_of(marker: str) -> int:
    lines = PROGRAM.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"# <- {marker}"))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_entry_that_differs_is_named(fault: str, tmp_path: Path) -> None:
    cause, marker, op, module, evidence = FAULTS[fault]
    ran = watched(tmp_path, PROGRAM, options=("--check", "recompute"), environment={"FAULT": fault})
    report = ran.found
    assert (report["verdict"], report["trip"]["step"], ran.status) == ("mismatch", 0, 1)
    origin, found = report["origin"], report["causes"][0]
    # What memory without a value holds is another thing in a replay: its loss differs.
    assert (found["id"], found["confidence"]) == (cause, "likely" if fault == "unwritten" else "proved")
    assert origin["line"] == line_of(marker)
    assert (origin["op"].split(".")[1], origin["module"]) == (op, module)
    assert any(evidence in text for text in found["evidence"]), found["evidence"]


def test_dropout_batch_norm_autocast_and_offloading_are_left_alone(tmp_path: Path) -> None:
    bare = plain(tmp_path / "plain", PROGRAM)
    ran = watched(tmp_path, PROGRAM, options=("--check", "recompute"))
    assert (ran.status, ran.found["verdict"], ran.out) == (0, "finite", bare.out)


def test_what_differs_only_as_the_program_runs_is_told_as_such(tmp_path: Path) -> None:
    program = f"""{NET}
block, calls = nn.Linear(4, 4), []
opt = torch.optim.SGD(block.parameters(), lr=0.1)
def run(x):
    calls.append(0)
    y = torch.tanh(block(x))
    return torch.tanh(y * 1.5 if len(calls) == 12 else y) * 2  # once only: the replay of the step does not do it
for step in range(8):
    loss = checkpoint(run, torch.randn(8, 4), use_reentrant=False).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    ran = watched(tmp_path, program, options=("--check", "recompute"))
    cause = ran.found["causes"][0]
    assert (ran.found["verdict"], cause["id"], cause["confidence"]) == ("mismatch", "recompute-mismatch", "likely")
    assert any(text.startswith("the step itself recomputed other values") for text in cause["evidence"])


LOSSY = f"""{NET}
from torch.autograd.graph import saved_tensors_hooks
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Sigmoid(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def pack(t):
    scale = t.abs().max() / LEVELS
    return (t / scale).round().to(torch.int8), scale
def unpack(packed):
    return packed[0] * packed[1]
for step in range(3):
    with saved_tensors_hooks(pack, unpack):
        loss = net(torch.randn(8, 8)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item().hex())
"""


@pytest.mark.parametrize("levels", [127, 7])
def test_activations_that_are_compressed_on_purpose_are_left_alone(levels: int, tmp_path: Path) -> None:
    program = LOSSY.replace("LEVELS", str(levels))
    ran = watched(tmp_path, program, options=("--check", "recompute"))
    assert (ran.status, ran.found["verdict"]) == (0, "finite"), ran.out
    assert ran.out == plain(tmp_path / "plain", program).out
