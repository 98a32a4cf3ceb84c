"""Gradients that were just clipped are not read again, unless something has happened to them since."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from nanscope.capture import calls
from tests.launch import Result, plain, watched

PROGRAM = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
opt = torch.optim.AdamW(net.parameters(), 1e-2)
for step in range(100):
    loss = net(torch.randn(5, 6)).square().mean()
    opt.zero_grad()
    loss.backward()
    BEFORE
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    weight = net[2].weight
    AFTER
    opt.step()
    print(step, loss.item().hex(), flush=True)
print(*(p.detach().sum().item().hex() for p in net.parameters()))
"""


def run(folder: Path, before: str = "pass", after: str = "pass") -> Result:
    return watched(folder, PROGRAM.replace("BEFORE", before).replace("AFTER", after))


def steps(folder: Path) -> list[dict[str, Any]]:
    """The records of a log, as docs/run-folder.md has them."""
    data, at, found = (folder / "run" / "rank-0.log").read_bytes(), 12, []
    while at < len(data):
        length, kind = struct.unpack_from("<IB", data, at)
        if kind == 2:
            step, _, _, *values, present, flags = struct.unpack_from("<3Q5dBB", data, at + 12)
            names = ("loss", "grad_norm", "grad_max", "scale", "lr")
            known = {name: x for i, (name, x) in enumerate(zip(names, values, strict=True)) if present >> i & 1}
            found.append({"step": step, "skipped": bool(flags), **known})
        at += 12 + length
    return found


def test_most_steps_take_the_norm_that_clipping_has_found(tmp_path: Path) -> None:
    ran = run(tmp_path)
    assert (ran.status, len(steps(tmp_path))) == (0, 100), ran.err
    late = steps(tmp_path)[70:]
    assert all(step["grad_norm"] <= 0.5001 for step in late)
    assert 2 <= sum("grad_max" in step for step in late) <= 5  # one in eight is read all the same
    assert "grad_max" not in steps(tmp_path)[91]  # in which the tests below make something happen
    (tmp_path / "plain").mkdir()
    alone = plain(tmp_path / "plain", PROGRAM.replace("BEFORE", "pass").replace("AFTER", "pass"))
    assert alone.out == ran.out


def test_the_norm_is_that_of_the_gradients(tmp_path: Path) -> None:
    """The same with a clip that changes nothing, beside the program without one."""
    (tmp_path / "clipped").mkdir(), (tmp_path / "not").mkdir()
    wide = PROGRAM.replace("0.5)", "1e6)").replace("BEFORE", "pass").replace("AFTER", "pass")
    without = wide.replace("torch.nn.utils.clip_grad_norm_(net.parameters(), 1e6)", "pass")
    watched(tmp_path / "clipped", wide)
    watched(tmp_path / "not", without)
    for a, b in zip(steps(tmp_path / "clipped"), steps(tmp_path / "not"), strict=True):
        assert a["grad_norm"] == pytest.approx(b["grad_norm"], rel=1e-5)


@pytest.mark.parametrize("change", [
    "weight.grad[1, 2] = float('nan')",
    "weight.grad.data[1, 2] = float('inf')",
    "weight.grad.data.mul_(float('nan'))",
    "weight.grad = torch.full_like(weight, float('nan'))",
    "torch._foreach_mul_([weight.grad], float('inf'))",
    "torch.nn.init.constant_(weight.grad, float('nan'))",
    "weight.grad.numpy()[1, 2] = float('nan')",
])  # fmt: skip
def test_what_happens_after_clipping_is_seen(tmp_path: Path, change: str) -> None:
    ran = run(tmp_path, after=f"if step == 91: {change}")
    assert (ran.status, ran.found["trip"]["step"], ran.found["trip"]["where"]) == (1, 91, "gradient"), ran.err
    assert "\n90 " in ran.out and "\n91 0x" not in ran.out  # the update was not made


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_what_happens_before_clipping_is_seen(tmp_path: Path, value: str) -> None:
    ran = run(tmp_path, before=f"if step == 91: net[0].weight.grad[0, 0] = float('{value}')")
    assert (ran.status, ran.found["trip"]["step"], ran.found["trip"]["where"]) == (1, 91, "gradient"), ran.err


def test_a_limit_that_is_nan_is_seen(tmp_path: Path) -> None:
    """Clipping itself makes gradients bad, of which it has found a norm that is finite."""
    ran = watched(tmp_path, PROGRAM.replace("0.5)", "0.5 if step != 91 else float('nan'))")
                  .replace("BEFORE", "pass").replace("AFTER", "pass"))  # fmt: skip
    assert (ran.status, ran.found["trip"]["step"], ran.found["trip"]["where"]) == (1, 91, "gradient"), ran.err


def test_the_part_of_a_norm_is_no_norm() -> None:
    import torch

    class Part(torch.Tensor):
        """As a DTensor: what it is needs a collective."""

    seen: list[float] = []
    told = calls._told(lambda parameters, max_norm, norm: seen.append(norm.item()))
    told(torch.ones(()).as_subclass(Part), [], 1.0)
    told(torch.tensor(2.0), [], 1.0, 1.0)
    told(torch.tensor(3.0), [], 1.0)
    assert seen == [3.0]


def test_clipping_some_parameters_tells_nothing_of_the_others(tmp_path: Path) -> None:
    ran = watched(tmp_path, PROGRAM.replace("(net.parameters(), 0.5)", "(list(net.parameters())[:2], 0.5)")
                  .replace("BEFORE", "pass").replace("AFTER", "if step == 91: net[0].bias.grad = weight.grad = None")
                  .replace("opt.zero_grad()", "opt.zero_grad(); net[2].register_full_backward_hook(hook)")
                  .replace("for step in", "def hook(module, given, grads):\n    global step\n"
                           "    return tuple(None if g is None else g * (float('nan') if step == 90 else 1) for g in given)\n"
                           "for step in"))  # fmt: skip
    assert (ran.status, ran.found["trip"]["step"]) == (1, 90), ran.err
