"""The step once more in float64: what was lost, where, and that nothing of the run is touched."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from tests.launch import Result, command, explained, forked, line_of, placed, watched

CANCELLATION = """
    import torch

    torch.manual_seed(0)
    scale = torch.nn.Parameter(torch.ones(6))
    opt = torch.optim.SGD([scale], lr=0.1)
    for step in range(2):
        x = torch.randn(30, 6) * 1e-3 + 700
        m = x.mean(0)
        var = (x * x).mean(0) - m * m  # LOST
        loss = ((x - m) / var.sqrt() * scale).sum()  # ORIGIN
        loss.backward()
        opt.step()
"""


def ledger(ran: Result) -> dict[str, Any]:
    """The ledger in the log of the first rank, as docs/run-folder.md says."""
    found = {}
    data, at = (ran.folder / "run" / "rank-0.log").read_bytes(), 12
    while at < len(data):
        length, kind = struct.unpack_from("<IB", data, at)
        if kind == 4:
            found = json.loads(data[at + 12 : at + 12 + length])
        at += 12 + length
    assert found, ran.err
    return found


def drifts(ran: Result, op: str, phase: str = "forward") -> list[dict[str, Any]]:
    """What is told of operators whose name holds `op`."""
    entries = [e for e in ledger(ran)["entries"] if op in e["op"] and e["phase"] == phase]
    return [e["drift"] for e in entries if "drift" in e]


def step(body: str) -> str:
    """A program of one step in which `w` is a parameter of four ones and `x` four numbers; `body` makes `y`."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return (
        "import torch\nfrom torch.nn import functional as F\n"
        "torch.manual_seed(0)\nw = torch.nn.Parameter(torch.ones(4))\nopt = torch.optim.SGD([w], lr=0.1)\n"
        "x = torch.tensor([0.5, 1.0, 1.5, 2.0])\nfor step in range(2):\n"
        f"{lines}\n    (y * w).sum().backward()\n    opt.step()\n"
    )


def test_a_cancellation_is_proved(tmp_path: Path) -> None:
    ran = watched(tmp_path, CANCELLATION)
    for report in (ran.found, explained(tmp_path)):
        cause = report["causes"][0]
        assert (cause["id"], cause["confidence"]) == ("cancellation", "proved")
        assert "agree to" in cause["evidence"][0] and "float64" in cause["evidence"][0]
        assert report["replay"]["whole"]["finite"] is True
        value, reference = (report["origin"]["inputs"][0][key] for key in ("value", "reference"))
        assert value <= 0 < reference < 2e-6
        (point,) = report["digits"]
        assert (point["line"], point["before"] > 7, point["after"] < 1) == (line_of(CANCELLATION, "# LOST"), True, True)
    assert "significant digits" in ran.out
    (lost,) = [d for d in drifts(ran, "sub") if d["relative"] > 0.5]
    assert [o["name"] for o in lost["operands"]] == ["self", "other"]


def test_an_underflow_is_told_where_it_happened(tmp_path: Path) -> None:
    program = step("p = torch.exp(-x * 300)  # LOST\ny = 1 / (p * 2)  # ORIGIN")
    ran = watched(tmp_path, program)
    cause = next(c for c in ran.found["causes"] if c["id"] == "underflow")
    assert cause["confidence"] == "proved"
    assert f":{line_of(program, '# LOST')}" in cause["evidence"][0]
    assert ran.found["replay"]["whole"]["finite"] is True
    (lost,) = drifts(ran, "exp")
    assert (lost["lost_zeros"], lost["value"]) == (4, 0) and 0 < lost["reference"] < 1e-60
    assert drifts(ran, "mul") == [], "a zero that is inherited is told once"


def test_silent_zeros_of_half_precision(tmp_path: Path) -> None:
    ran = watched(tmp_path, step("h = (x * 1e-4).half()\ns = h * h\ny = (h / s).float()"))
    (lost,) = drifts(ran, "mul")
    assert lost["lost_zeros"] == 3, "(2e-4)^2 rounds to the smallest number that there is"
    assert lost["reference"] == (0.5 * 1e-4) ** 2 or abs(lost["reference"] / 2.5e-9 - 1) < 1e-6
    assert ran.found["replay"]["whole"]["finite"] is True


def test_a_saturated_probability(tmp_path: Path) -> None:
    ran = watched(tmp_path, step("p = torch.sigmoid(x * 20)\ny = torch.log(1 - p)"))
    (lost,) = drifts(ran, "sigmoid")
    assert lost["saturated"] == 2, "sigmoid(40) is 1 in float64 too"
    assert (lost["value"], lost["reference"] < 1) == (1, True)
    cause = ran.found["causes"][0]
    assert cause["id"] == "log-of-zero"
    assert any("float64 the argument is 2.06e-9" in text for text in cause["evidence"]), cause


def test_an_infinity_that_is_swallowed(tmp_path: Path) -> None:
    """rsqrt(inf) is 0: nothing is bad there, and the digits are gone."""
    program = step("s = (x * 2e4).half() * 8\nr = torch.rsqrt(s).float()\ny = torch.log(r)")
    ran = watched(tmp_path, program)
    (lost,) = drifts(ran, "rsqrt")
    assert lost["swallowed"] == lost["lost_zeros"] == 4
    assert ran.found["replay"]["whole"]["finite"] is True


def test_dropout_drops_the_same(tmp_path: Path) -> None:
    body = "h = F.dropout(torch.randn(64, 4) * w, 0.5)\nh = h @ torch.rand(4, 4) + torch.randn(4)\n"
    ran = watched(tmp_path, step(body + "y = torch.sqrt(h.mean(0) - 100)"))
    found = ledger(ran)
    assert found["faithful"] and found["whole"]["finite"] is False
    assert found["whole"].get("skipped", 0) == 0
    assert [e["op"] for e in found["entries"] if "drift" in e] == []


def test_views_and_writes_in_place(tmp_path: Path) -> None:
    body = """
both = torch.zeros(2, 4)
both[0] = x * 1000
both[1] = x * 1000
both.t()[:, 0].add_(1e-6)
flat = both.view(-1)
d = flat[:4] - flat[4:]
d.mul_(2)
y = 1 / d
"""
    ran = watched(tmp_path, step(body))
    assert ran.found["replay"]["whole"]["finite"] is True
    value, reference = (ran.found["origin"]["inputs"][0][key] for key in ("value", "reference"))
    assert value == 0 and abs(reference / 2e-6 - 1) < 1e-3
    (lost,) = drifts(ran, "sub")
    assert lost["lost_zeros"] == 4


def test_autocast_and_casts_stay_in_float64(tmp_path: Path) -> None:
    body = """
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = F.linear(x[None], torch.eye(4)) + 0
h = (h.to(torch.bfloat16) * 1.001).float() - h
y = (1 / h)[0]
"""
    ran = watched(tmp_path, step(body))
    assert ran.found["replay"]["whole"]["finite"] is True
    value, reference = (ran.found["origin"]["inputs"][0][key] for key in ("value", "reference"))
    assert value == 0 and abs(reference / 5e-4 - 1) < 1e-3


def test_a_checkpoint_is_recomputed_beside_its_shadow(tmp_path: Path) -> None:
    body = """
def block(w):
    d = (w * x * 1e4 + 1e-5) - w * x * 1e4
    return torch.sqrt(d)
y = torch.utils.checkpoint.checkpoint(block, w, use_reentrant=False)
"""
    ran = watched(tmp_path, "import torch.utils.checkpoint\n" + step(body))
    found = ledger(ran)
    assert found["faithful"], found["warnings"]
    assert found["whole"]["finite"] is True
    assert len(drifts(ran, "sub")) == len(drifts(ran, "sub", "recompute")) == 1


def test_an_operator_without_float64_is_taken_from_the_run(tmp_path: Path) -> None:
    program = """
        import torch

        @torch.library.custom_op("shop::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            assert x.dtype == torch.float32
            return x * 2

        w = torch.nn.Parameter(torch.ones(4))
        opt = torch.optim.SGD([w], lr=0.1)
        for step in range(2):
            x = twice(torch.ones(4) / 3)
            (torch.log(x - 1) * w).sum().backward()
            opt.step()
    """
    ran = watched(tmp_path, program)
    whole = ran.found["replay"]["whole"]
    assert (whole["skipped"], whole["skipped_ops"]) == (1, ["shop.twice.default"])
    assert ran.found["causes"][0]["id"] == "negative-argument"


def test_float64_has_no_other_reference(tmp_path: Path) -> None:
    ran = watched(tmp_path, "import torch\ntorch.set_default_dtype(torch.float64)\n" + step("y = torch.log(x - 1)"))
    found = ledger(ran)
    assert "whole" not in found
    assert [e for e in found["entries"] if "drift" in e] == []


def test_what_is_too_long_or_too_large_is_left_out(tmp_path: Path) -> None:
    def limited(name: str, value: Any) -> Result:
        folder = tmp_path / name
        path = placed(folder, CANCELLATION)

        def action() -> int:
            from nanscope.replay import memory, reference

            setattr(memory if hasattr(memory, name) else reference, name, value)
            return command("run", "--out", "run", path)

        return forked(folder, action)

    for name, value, why in (
        ("OPERATORS_MAX", 3, "more than 3 operators"),
        ("LIMIT_BYTES", 64, "do not fit into memory"),
        ("SECONDS_MAX", 0.0, "took more than 0 s"),
    ):
        ran = limited(name, value)
        assert any(why in text for text in ran.found["warnings"]), (name, ran.found["warnings"])
        assert ran.found["replay"]["faithful"]
        assert ran.found["origin"]["line"] == line_of(CANCELLATION, "# ORIGIN")
        assert ran.found["replay"]["whole"].get("finite") is None


def test_the_shadow_draws_and_writes_nothing(tmp_path: Path) -> None:
    """The ledger of a replay with shadows is that of a replay without."""
    program = step("h = F.dropout(x * w, 0.5) + torch.randn(4)\nh.add_(1).clamp_(0)\ny = torch.log(h - 100)")
    with_shadows = watched(tmp_path / "with", program)

    def action() -> int:
        from nanscope.replay.reference import Shadows

        Shadows.before = lambda *_: None  # type: ignore[method-assign]
        Shadows.after = lambda *_: None  # type: ignore[method-assign]
        return command("run", "--out", "run", placed(tmp_path / "without", program))

    without = forked(tmp_path / "without", action)

    def plain(ran: Result) -> list[dict[str, Any]]:
        entries = ledger(ran)["entries"]
        for entry in entries:
            entry.pop("drift", None)
            for arg in [*entry["inputs"], *entry["outputs"]]:
                arg.pop("reference", None)
        return entries

    assert plain(with_shadows) == plain(without)
