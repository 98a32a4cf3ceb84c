"""`nanscope checkpoint`: what is predicted beside what is measured, the diff, and what cannot be done, by name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.launch import PROGRAMS, Result, nanscope, placed

TRANSFORMER = PROGRAMS / "tuner" / "transformer.py"
HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
"""
LOOP = """
model = Model()
opt = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(6):
    loss = model(torch.randn(*SHAPE)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", loss.item())
"""
# Convolutions in stages of other widths and sizes, blocks beside what is no block, called in the middle of an expression.
CNN = (
    HEAD
    + """
SHAPE = (4, 3, 16, 16)

def stage(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.ReLU())

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), stage(8, 8), stage(8, 8), nn.MaxPool2d(2), stage(8, 32), stage(32, 32), stage(32, 32)
        )
        self.head = nn.Linear(32 * 8 * 8, 4)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))
"""
    + LOOP
)
UNEQUAL = (
    HEAD
    + """
SHAPE = (32, 16)

class Block(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(16, hidden), nn.Linear(hidden, 16)

    def forward(self, x, *, scale):
        return x + self.down(torch.relu(self.up(x))) * scale

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(64 * (1 + at % 4) ** 2) for at in range(6))

    def forward(self, x):
        for at, block in enumerate(self.blocks):
            x = block(x, scale=0.5)
        return x
"""
    + LOOP
)
CHECKPOINTED = UNEQUAL.replace(
    "x = block(x, scale=0.5)",
    "x = checkpoint(block, x, scale=0.5, use_reentrant=False) if at % 2 == 0 else block(x, scale=0.5)",
).replace("from torch import nn", "from torch import nn\nfrom torch.utils.checkpoint import checkpoint")


def tuned(folder: Path, program: Path | str, *options: object) -> dict[str, Any]:
    """What `nanscope checkpoint` finds; it must find something."""
    ran = asked(folder, program, "--format", "json", *options)
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert found == json.loads((folder / "run" / "checkpoint.json").read_text())
    return found


def asked(folder: Path, program: Path | str, *options: object) -> Result:
    return nanscope(folder, "checkpoint", "--out", "run", *options, placed(folder, program))


def settings(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {setting["id"]: setting for setting in found["settings"]}


def agree(found: dict[str, Any]) -> None:
    """Every prediction is within a tenth of what was measured, resident memory left out; every gradient is the same."""
    for setting in found["settings"]:
        resident = found["resident"]
        predicted, measured = setting["predicted"]["bytes"] - resident, setting["measured"]["bytes"] - resident
        assert abs(predicted - measured) <= 0.1 * measured, setting
        assert setting["parity"] == "identical", setting


def patched(folder: Path, found: dict[str, Any]) -> str:
    """The program with the diff, by `patch`."""
    assert (folder / "run" / "checkpoint.diff").read_text() == found["diff"]
    subprocess.run(["patch", "-p1", "-s", "-i", "run/checkpoint.diff"], cwd=folder, check=True)
    return (folder / "program.py").read_text()


def test_twelve_layers(tmp_path: Path) -> None:
    found = tuned(tmp_path, TRANSFORMER.read_text(), "--limit", "45MiB")
    agree(found)
    by = settings(found)
    assert list(by) == ["none", "all", "every-2", "every-3", "every-4", "best"]
    assert [len(s["blocks"]) for s in by.values()] == [0, 12, 6, 4, 3, 5]
    assert by["none"]["as_is"]
    assert by["best"]["blocks"] == [0, 1, 2, 3, 4] and found["exact"]
    assert by["best"]["measured"]["bytes"] <= 45 << 20 < by["every-3"]["measured"]["bytes"]
    peaks = [by[name]["measured"]["bytes"] for name in ("none", "every-4", "every-3", "best", "every-2", "all")]
    assert peaks == sorted(peaks, reverse=True)
    assert (found["step"], found["device"], found["counted"]) == (2, "cpu", "storages")
    assert [block["name"] for block in found["blocks"]] == [f"blocks.{at}" for at in range(12)]
    assert (found["chosen"], found["proved"]) == ("best", True)
    assert "checkpoint(block, x, use_reentrant=False) if i < 5 else block(x)" in patched(tmp_path, found)
    assert "</svg>" in (tmp_path / "run" / "checkpoint.svg").read_text()
    # The program as the diff has it is as it was predicted.
    again = tuned(tmp_path / "again", (tmp_path / "program.py").read_text(), "--every", "2")
    as_is = next(s for s in again["settings"] if s["as_is"])
    assert as_is["blocks"] == [0, 1, 2, 3, 4]
    agree(again)
    assert abs(as_is["measured"]["bytes"] - by["best"]["measured"]["bytes"]) < 0.01 * as_is["measured"]["bytes"]


def test_stages_of_a_sequential(tmp_path: Path) -> None:
    found = tuned(tmp_path, CNN, "--setting", "every-2")
    agree(found)
    assert [block["name"] for block in found["blocks"]] == [f"features.{at}" for at in (1, 2, 4, 5, 6)]
    assert found["proved"], found
    text = patched(tmp_path, found)
    assert "for i, block in enumerate(self.features):" in text
    assert "if i in (1, 4, 6) else block(hidden)" in text
    assert "self.head(hidden.flatten(1))" in text


def test_statistics_that_would_be_updated_twice_are_told(tmp_path: Path) -> None:
    found = tuned(tmp_path, CNN.replace("GroupNorm(4, b)", "BatchNorm2d(b)"), "--setting", "all", "--every", "2")
    agree(found)
    assert settings(found)["all"]["note"] == (
        "gradients are the same, but running the blocks again changes features.1.1.running_mean once more, and 14 others"
    )
    assert found["proved"] is False
    assert found["proof"].startswith("not proved: with the diff, a block gives or leaves something else")


def test_blocks_of_other_sizes(tmp_path: Path) -> None:
    first = tuned(tmp_path / "a", UNEQUAL, "--every", "2")
    limit = (settings(first)["none"]["measured"]["bytes"] + first["least"]) // 2
    found = tuned(tmp_path / "b", UNEQUAL, "--limit", limit)
    agree(found)
    by = settings(found)
    best = by["best"]
    assert best["measured"]["bytes"] <= limit and found["exact"]
    within = [s for s in by.values() if s["predicted"]["bytes"] <= limit]
    assert best["predicted"]["seconds"] == min(s["predicted"]["seconds"] for s in within)
    assert found["proved"]
    assert "checkpoint(block, x, scale=0.5, use_reentrant=False) if at" in patched(tmp_path / "b", found)


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("none", "x = block(x, scale=0.5) if at % 2 == 0 else block(x, scale=0.5)"),
        ("all", "else checkpoint(block, x, scale=0.5, use_reentrant=False)"),
    ],
)
def test_a_program_that_checkpoints_already(setting: str, line: str, tmp_path: Path) -> None:
    found = tuned(tmp_path, CHECKPOINTED, "--setting", setting, "--every", "2,3")
    agree(found)
    by = settings(found)
    assert by["every-2"]["as_is"] and by["every-2"]["blocks"] == [0, 2, 4]
    assert by["none"]["measured"]["bytes"] > by["every-2"]["measured"]["bytes"] > by["all"]["measured"]["bytes"]
    assert found["proved"], found
    assert line in patched(tmp_path, found)


def test_what_is_not_a_choice_of_blocks_is_shown_as_it_is(tmp_path: Path) -> None:
    program = UNEQUAL.replace(
        "for at, block in enumerate(self.blocks):\n            x = block(x, scale=0.5)",
        "x = checkpoint(self.half, x, 0, use_reentrant=True)\n        x = checkpoint(self.half, x, 3, use_reentrant=False)",
    ).replace(
        "    def forward(self, x):\n        x = checkpoint",
        "    def half(self, x, first):\n        for block in self.blocks[first : first + 3]:\n"
        "            x = block(x, scale=0.5)\n        return x\n\n"
        "    def forward(self, x):\n        x = checkpoint",
    )
    program = program.replace(
        "from torch import nn", "from torch import nn\nfrom torch.utils.checkpoint import checkpoint"
    )
    program = program.replace("torch.randn(*SHAPE)", "torch.randn(*SHAPE).requires_grad_()")
    found = tuned(tmp_path, program)
    agree(found)
    assert "blocks" not in settings(found)["as-is"]


def test_a_block_that_differs_when_it_is_run_again_is_told(tmp_path: Path) -> None:
    program = UNEQUAL.replace(
        "return x + self",
        "self.count = getattr(self, 'count', 0) + 1\n        x = x * self.count\n        return x + self",
    )
    found = tuned(tmp_path, program, "--every", "2")
    by = settings(found)
    assert by["none"]["parity"] == "identical"
    assert by["all"]["parity"] == "differs"
    assert "aten.mul.Tensor (program.py:" in by["all"]["note"]


@pytest.mark.parametrize(
    ("program", "options", "said"),
    [
        (UNEQUAL, ("--step", "9"), "the program ended after 6 steps, before step 9 was reached; --step N asks for an earlier one"),
        (HEAD + "print(1)", (), "the program ended without a training step"),
        (UNEQUAL + "\nraise KeyError('x')", ("--step", "7"), "KeyError: 'x'"),
        (
            HEAD + "SHAPE = (4, 8)\nModel = lambda: nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))" + LOOP, (),
            "no repeated blocks in Sequential: expected at least two modules of one class",
        ),
        (
            UNEQUAL.replace("opt.zero_grad()", "opt.zero_grad()\n    if step == 1: loss = loss / 0"), (),
            "step 1 is not healthy (loss inf); `nanscope run` finds out why",
        ),
        (
            UNEQUAL.replace("opt = ", "model.blocks[0].up.weight.register_post_accumulate_grad_hook(lambda p: None)\nopt = "), (),
            "the step cannot be run again: parameters have hooks that run after their gradient is there",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_by_name(program: str, options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ran = asked(tmp_path, program, *options)
    assert ran.status == 2
    assert said in ran.err
    assert not (tmp_path / "run" / "checkpoint.json").exists()


def test_a_rank_of_several_is_refused(tmp_path: Path) -> None:
    environment = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    ran = nanscope(tmp_path, "checkpoint", placed(tmp_path, UNEQUAL), environment=environment)
    assert ran.status == 2
    assert "one of several ranks" in ran.err


def test_a_limit_that_cannot_be_kept(tmp_path: Path) -> None:
    ran = asked(tmp_path, UNEQUAL, "--limit", "10KiB", "--lang", "en")
    assert ran.status == 0, ran.err
    assert "no choice of blocks stays below 10.0 KiB; the least that was found is " in ran.out
    assert "best" not in settings(json.loads((tmp_path / "run" / "checkpoint.json").read_text()))


def test_blocks_that_torch_calls_cannot_be_edited(tmp_path: Path) -> None:
    program = (
        HEAD
        + "SHAPE = (2, 5, 16)\n"
        + "Model = lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 4)\n"
        + LOOP
    )
    found = tuned(tmp_path, program, "--setting", "all")
    agree(found)
    assert "diff" not in found
    assert found["no_diff"].endswith("leads to the blocks through a module of torch that calls them itself")


def test_korean(tmp_path: Path) -> None:
    ran = asked(tmp_path, UNEQUAL, "--lang", "ko", "--setting", "all")
    assert ran.status == 0, ran.err
    for said in ("블록 6개", "최대 메모리", "증명됨", "그림:"):
        assert said in ran.out
