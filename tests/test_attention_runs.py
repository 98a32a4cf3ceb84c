"""Attention of watched programs: kernels that are wrong end a checked run, those that are right are left alone, heads are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.attention_kernels import FAULTS
from tests.corpus_board.case import load
from tests.launch import Result, explained, plain, watched

BLOCK = """
import math
import torch
import torch.nn.functional as F
from torch import nn
from tests.attention_kernels import installed
torch.manual_seed(0)
torch.set_num_threads(1)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def attend(self, q, k, v):
        {attend}

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return x + self.attend(q, k, v).transpose(1, 2).flatten(2)

net = nn.Sequential(Block(), Block())
opt = torch.optim.SGD(net.parameters(), lr=0.01)
kernel = installed({fault})
kernel.__enter__()
for step in range({steps}):
    x = torch.randn(8, 37, 16) + 0.5
    {before}
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
"""
SDPA = "return F.scaled_dot_product_attention(q, k, v{more})"
PADDED = SDPA.format(more=", attn_mask=torch.zeros(37, 37).index_fill_(1, torch.tensor([35, 36]), -torch.inf)")
CALLS = {
    "mask-off-by-one": SDPA.format(more=", is_causal=True"),
    "padding-in-backward": PADDED,
    "dropout-scale": "return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.2)[0]",
}


def program(folder: Path, **parts: Any) -> Path:
    parts = {"attend": SDPA.format(more=""), "fault": None, "steps": 3, "before": "pass"} | parts
    (folder / "program.py").write_text(BLOCK.format(**{**parts, "fault": repr(parts["fault"])}))
    return Path("program.py")


def checked(folder: Path, path: Path, every: str = "attention", *options: str) -> Result:
    return watched(folder, path, options=("--check", every, *options))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_ends_a_checked_run(fault: str, tmp_path: Path) -> None:
    path = program(tmp_path, fault=fault, attend=CALLS.get(fault, SDPA.format(more="")))
    report = checked(tmp_path, path).found
    assert (report["verdict"], report["trip"]["where"], report["trip"]["step"]) == ("mismatch", "kernel", 0)
    cause, origin = report["causes"][0], report["origin"]
    assert (cause["id"], cause["confidence"]) == ("kernel-mismatch", "proved")
    assert origin["function"] == "Block.attend"
    assert origin["phase"] == ("backward" if fault == "padding-in-backward" else "forward")
    assert any(
        "backend math gives what the formula gives" in text and "x the time" in text for text in cause["evidence"]
    )
    (first, *_) = report["attention"]
    right = {one["name"]: one["right"] for one in first["backends"]}
    # Backends are compared without dropout, which is what is wrong of that kernel alone.
    assert right == {"math": True, "flash-attention": fault == "dropout-scale"}
    assert explained(tmp_path)["causes"] == report["causes"]


@pytest.mark.parametrize("attend", [SDPA.format(more=""), *CALLS.values()])
def test_a_kernel_that_is_right_is_left_alone(attend: str, tmp_path: Path) -> None:
    for name in ("plain", "watched"):
        (tmp_path / name).mkdir()
    path = program(tmp_path / "plain", attend=attend)
    bare = plain(tmp_path / "plain", path)
    seen = checked(tmp_path / "watched", program(tmp_path / "watched", attend=attend))
    assert bare.status == 0, bare.err
    assert (seen.status, seen.found["verdict"], seen.out) == (0, "finite", bare.out), seen.err
    assert not seen.found.get("warnings")


def test_no_healthy_step_is_looked_at_unless_asked(tmp_path: Path) -> None:
    ran = watched(tmp_path, program(tmp_path, fault="wrong-scale"))
    assert (ran.status, ran.found["verdict"]) == (0, "finite")


def test_every_nth_step_is_looked_at(tmp_path: Path) -> None:
    before = "kernel.__exit__(None, None, None) if step == 0 else None; kernel = installed('wrong-scale') if step == 2 else kernel"
    path = program(tmp_path, steps=8, before=f"{before}; kernel.__enter__() if step == 2 else None")
    report = checked(tmp_path, path, "attention=3").found
    assert (report["trip"]["where"], report["trip"]["step"]) == ("kernel", 3)


def test_the_fix_is_another_backend_and_is_compared_again(tmp_path: Path) -> None:
    (case,) = load(["L01"])
    (tmp_path / "program.py").write_text(case.source)
    report = watched(tmp_path, Path("program.py"), options=("--check", "attention"), budget=60).found
    proved = [fix["id"] for fix in report["fixes"] if fix.get("proof", {}).get("proved")]
    assert proved[0] == "attention-math"
    assert "sdpa_kernel(torch.nn.attention.SDPBackend.MATH)" in report["fixes"][0]["diff"]


HALF = "s = q.half() @ k.half().transpose(-2, -1); return (s.float() {scale}).softmax(-1) @ v"
GROWS = "net[1].qkv.weight.data.mul_(3.0)"


def test_logits_that_leave_float16_are_told_by_head_and_as_they_grew(tmp_path: Path) -> None:
    path = program(tmp_path, attend=HALF.format(scale=""), before=GROWS, steps=9)
    report = checked(tmp_path, path, "attention=2").found
    cause = report["causes"][0]
    assert (cause["id"], report["origin"]["module"]) == ("half-overflow", "1")
    text = "\n".join(cause["evidence"])
    assert "head " in text and "of 1: largest logit" in text and "(float16 ends at 65504)" in text
    assert "logits are multiplied by 1; 1/sqrt(8) is 0.354" in text
    assert "in step 0" in text and ", now " in text
    (call,) = report["attention"]
    assert [head["head"] for head in call["heads"]] == [0, 1]
    assert max(head["largest"] for head in call["heads"]) > 65504
    assert [step for step, _ in call["past"]] == sorted({step for step, _ in call["past"]})


def test_a_scale_that_is_usual_is_not_told(tmp_path: Path) -> None:
    path = program(tmp_path, attend=HALF.format(scale="/ math.sqrt(8)"), before=GROWS, steps=9)
    report = watched(tmp_path, path).found
    assert report["causes"][0]["id"] == "half-overflow"
    assert report["attention"][0]["scale"] == pytest.approx(8**-0.5)
    assert not any("1/sqrt" in text for text in report["causes"][0]["evidence"])


def test_a_row_without_a_key_is_told_with_head_and_mask(tmp_path: Path) -> None:
    attend = "s = q @ k.transpose(-2, -1) / 8**0.5; s[:, 1, 5] = -torch.inf; return s.softmax(-1) @ v"
    report = watched(tmp_path, program(tmp_path, attend=attend)).found
    text = "\n".join(report["causes"][0]["evidence"])
    assert report["causes"][0]["id"] == "fully-masked-row"
    assert "head 1 of 0: rows that see no key: 8" in text
