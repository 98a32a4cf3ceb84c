"""Fixes of real programs: written, run, shown, made, and refused where that would be wrong."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.launch import Result, nanscope, plain
from tests.launch import watched as launched

ROOT = """
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)


def distance(h):
    return h.pow(2).sum(1).sqrt().mean()


for step in range(9):
    x = torch.randn(5, 4)
    if step == 5:
        with torch.no_grad():
            net.weight.zero_()
            net.bias.zero_()
    loss = distance(net(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
"""


def watched(folder: Path, program: Path | str, **more: Any) -> Result:
    """A run with a minute for experiments and proofs."""
    return launched(folder, program, **({"budget": 60} | more))


def first(ran: Result) -> dict[str, Any]:
    """The first fix of a report."""
    fix: dict[str, Any] = ran.found["fixes"][0]
    return fix


def test_a_safe_fix_leaves_healthy_steps_as_they_were(tmp_path: Path) -> None:
    ran = watched(tmp_path, ROOT)
    fix = first(ran)
    assert (fix["id"], fix["safety"]) == ("floor-argument", "safe")
    assert fix["proof"] | {"seconds": 0} == {
        "proved": True, "finite": True, "steps": 9, "healthy_losses": "identical", "compared": 5, "seconds": 0,
        "command": "nanscope fix run 1 --prove", "time_ratio": fix["proof"].get("time_ratio"),
    }  # fmt: skip
    assert "+    return h.pow(2).sum(1).clamp(min=1e-12).sqrt().mean()\n" in fix["diff"]


def test_what_was_proved_is_what_the_program_does_when_the_fix_is_made(tmp_path: Path) -> None:
    before = watched(tmp_path, ROOT)
    made = nanscope(tmp_path, "fix", "run", "--write")
    assert made.status == 0, made.err
    assert (tmp_path / "program.py.orig").read_text() == ROOT.lstrip("\n")
    after = plain(tmp_path, Path("program.py"))
    healthy = before.out.splitlines()[:5]
    assert after.out.splitlines()[:5] == healthy
    assert len(after.out.splitlines()) == 9 and "nan" not in after.out


def test_a_fix_is_shown_so_that_patch_takes_it(tmp_path: Path) -> None:
    ran = watched(tmp_path, ROOT)
    shown = nanscope(tmp_path, "fix", "run")
    assert (shown.status, shown.out) == (0, first(ran)["diff"])
    assert (tmp_path / "program.py").read_text() == ROOT.lstrip("\n")


def test_a_proof_can_be_repeated(tmp_path: Path) -> None:
    watched(tmp_path, ROOT)
    again = nanscope(tmp_path, "fix", "run", "1", "--prove")
    assert again.status == 0 and again.err.startswith("nanscope: running the program again, past step 5")
    assert "past step 5" in again.out and "5 of 5 healthy losses the same" in again.out


def test_a_file_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    watched(tmp_path, ROOT)
    (tmp_path / "program.py").write_text(ROOT.lstrip("\n") + "# more\n")
    for how in ((), ("--write",), ("--prove",)):
        ran = nanscope(tmp_path, "fix", "run", *how)
        assert ran.status == 2 and "has changed since the run" in ran.err, (how, ran)
    assert not (tmp_path / "program.py.orig").exists()


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    watched(tmp_path, ROOT)
    os.chmod(tmp_path / "program.py", 0o444)
    ran = nanscope(tmp_path, "fix", "run", "--write")
    assert ran.status == 2 and "read-only" in ran.err
    assert not (tmp_path / "program.py.orig").exists()


def test_a_fix_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    watched(tmp_path, ROOT)
    assert nanscope(tmp_path, "fix", "run", "99").err.startswith("nanscope: run has ")
    advice = nanscope(tmp_path, "fix", "run", str(len(watched(tmp_path / "x", ROOT).found["fixes"])))
    assert advice.status == 2 and "is advice: it has no diff" in advice.err
    assert nanscope(tmp_path, "fix", "nowhere").status == 2


def test_the_budget_decides_whether_anything_is_run(tmp_path: Path) -> None:
    ran = watched(tmp_path, ROOT, budget=0)
    assert [fix["safety"] for fix in ran.found["fixes"]] == ["advice"]
    assert "experiments" not in ran.found


def test_a_source_changed_while_the_program_ran_is_left_alone(tmp_path: Path) -> None:
    program = ROOT.replace("import torch\n", "import torch\nimport pathlib\n", 1).replace(
        "    loss = distance",
        "    pathlib.Path(__file__).write_text(pathlib.Path(__file__).read_text() + '#')\n    loss = distance",
    )
    ran = watched(tmp_path, program)
    assert [fix["safety"] for fix in ran.found["fixes"]] == ["advice"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["    ", "\t"])
def test_every_byte_that_no_edit_touches_stays(tmp_path: Path, newline: str, indent: str) -> None:
    text = "# 제곱근: h의 크기\n" + ROOT.lstrip("\n").replace("def distance", "π = 1.0\n\n\ndef distance").replace(
        "mean()", "mean() * π", 1
    )
    data = text.replace("    ", indent).rstrip("\n").replace("\n", newline).encode()
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "program.py").write_bytes(data)
    ran = watched(tmp_path, Path("program.py"))
    assert first(ran)["proof"]["proved"], ran.found["fixes"]
    assert nanscope(tmp_path, "fix", "run", "--write").status == 0
    changed = (tmp_path / "program.py").read_bytes()
    assert changed.replace(b".clamp(min=1e-12)", b"") == data != changed


def test_two_edits_are_found_where_one_only_moves_the_fault(tmp_path: Path) -> None:
    program = ROOT.replace("h.pow(2).sum(1).sqrt().mean()", "(h[:, 0] / h.pow(2).sum(1).sqrt()).mean()")
    fix = first(watched(tmp_path, program))
    assert fix["id"] == "floor-denominator+floor-argument" and fix["proof"]["proved"]
    assert fix["safety"] == "safe" and fix["proof"]["healthy_losses"] == "identical"


def test_a_module_of_the_program_is_changed_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "geometry.py").write_text("def distance(h):\n    return h.pow(2).sum(1).sqrt().mean()\n")
    start = ROOT.index("def distance")
    end = ROOT.index("for step")
    ran = watched(tmp_path, ROOT[:start] + "from lib.geometry import distance\n\n" + ROOT[end:])
    fix = first(ran)
    assert [file["file"] for file in fix["files"]] == ["lib/geometry.py"] and fix["proof"]["proved"]
    assert nanscope(tmp_path, "fix", "run", "--write").status == 0
    assert "clamp(min=1e-12)" in (tmp_path / "lib" / "geometry.py").read_text()


def test_an_installed_package_is_never_changed(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "geometry.py").write_text("def distance(h):\n    return h.pow(2).sum(1).sqrt().mean()\n")
    start, end = ROOT.index("def distance"), ROOT.index("for step")
    program = (
        f"import sys\nsys.path.append({str(packages)!r})\n"
        + ROOT[:start].lstrip("\n")
        + "from geometry import distance\n\n"
        + ROOT[end:]
    )
    ran = watched(tmp_path, program)
    fix = first(ran)
    assert [file["file"] for file in fix["files"]] == ["program.py"] and fix["proof"]["proved"]
    assert fix["safety"] == "safe" and "in geometry.distance, from your program" in fix["summary"]
    assert nanscope(tmp_path, "fix", "run", "--write").status == 0
    assert "clamp" not in (packages / "geometry.py").read_text()
    after = plain(tmp_path, Path("program.py"))
    assert after.out.splitlines()[:5] == ran.out.splitlines()[:5]
    assert len(after.out.splitlines()) == 9 and "nan" not in after.out


def test_a_method_of_an_installed_package_is_replaced_from_the_program(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "geometry.py").write_text(
        "class Distance:\n"
        "    def __call__(self, h):\n"
        '        """The length of "h" \\ rows."""\n'
        "        return h.pow(2).sum(1).sqrt().mean()\n\n"
        "distance = Distance()\n"
    )
    start, end = ROOT.index("def distance"), ROOT.index("for step")
    head = f"import sys\nsys.path.append({str(packages)!r})\n"
    ran = watched(tmp_path, head + ROOT[:start].lstrip("\n") + "from geometry import distance\n\n" + ROOT[end:])
    fix = first(ran)
    assert fix["proof"]["proved"] and "+_fixed_in.Distance.__call__.__code__ = " in fix["diff"], ran.found["fixes"]


def test_a_loop_on_one_line_is_no_reason_to_fail(tmp_path: Path) -> None:
    program = """
    import torch
    torch.manual_seed(0)
    w = torch.nn.Parameter(torch.ones(3)); opt = torch.optim.SGD([w], 0.1)
    f = lambda v: v.pow(2).sum().sqrt()
    for step in range(6): opt.zero_grad(); loss = f(w * (step != 3)); loss.backward(); opt.step()
    """
    fix = first(watched(tmp_path, program))
    assert fix["proof"]["proved"] and "+f = lambda v: v.pow(2).sum().clamp(min=1e-12).sqrt()\n" in fix["diff"]


# ---- --heal


def test_heal_goes_on_with_the_fix(tmp_path: Path) -> None:
    ran = watched(tmp_path, ROOT, options=("--heal",))
    assert [line.split()[0] for line in ran.out.splitlines()[:9]] == [str(step) for step in range(9)]
    assert "the fix floor-argument was made in memory" in ran.err
    assert (tmp_path / "program.py").read_text() == ROOT.lstrip("\n")
    log = (tmp_path / "run" / "rank-0.log").read_bytes()
    assert b"made in memory" in log


def test_heal_ends_the_run_where_the_code_is_running(tmp_path: Path) -> None:
    program = ROOT.replace("distance(net(x))", "net(x).pow(2).sum(1).sqrt().mean()")
    ran = watched(tmp_path, program, options=("--heal",))
    assert "top level" in ran.err and ran.status == 1
    assert "6 " not in ran.out.split("error")[0]


def test_heal_reaches_every_function_that_was_made(tmp_path: Path) -> None:
    program = textwrap.dedent(ROOT).replace(
        "def distance(h):\n    return h.pow(2).sum(1).sqrt().mean()\n",
        "def make(power):\n    def distance(h):\n        return h.pow(power).sum(1).sqrt().mean()\n    return distance\n\n\n"
        "distance, other = make(2), make(4)\n",
    )
    ran = watched(tmp_path, program, options=("--heal",))
    assert "made in memory" in ran.err, ran.err
    assert json.loads((tmp_path / "run" / "report.json").read_text())["fixes"][0]["proof"]["proved"]


# ---- what must not be called proved


def test_an_error_that_the_program_swallows_is_no_proof(tmp_path: Path) -> None:
    """A denominator that is a number of Python's has no `clamp`, and the program hides the error that it gives."""
    program = """
    import torch

    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)

    def main():
        for step in range(6):
            valid = torch.ones(5)[: 0 if step == 3 else 5]
            loss = (net(torch.randn(5, 4)).squeeze(1)[: len(valid)].sum()) / len(valid)
            opt.zero_grad()
            loss.backward()
            opt.step()

    try:
        main()
    except Exception as error:
        print(error)
    """
    fix = first(watched(tmp_path, program))
    assert "max(len(valid), 1)" in fix["diff"] and fix["proof"]["proved"] and fix["proof"]["steps"] > 3, fix


def test_fixes_are_for_the_trip_that_is_reported(tmp_path: Path) -> None:
    """An alarm that ends no run comes first."""
    program = """
    import torch

    torch.manual_seed(0)
    net = torch.nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(90):
        if step == 10:
            opt.param_groups[0]["lr"] = 0.0
        h = net(torch.randn(5, 4)) * (step != 80)
        loss = h.pow(2).sum(1).sqrt().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    """
    ran = watched(tmp_path, program)
    assert "zero-rate" in ran.err or "zero" in ran.err, ran.err
    assert ran.found["trip"]["step"] == 80
    assert first(ran)["id"] == "floor-argument" and first(ran)["proof"]["proved"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("x.softmax(-1).log()", "torch.nn.functional.log_softmax(x, -1)"),
        ("torch.log(torch.softmax(x, dim=-1))", "torch.nn.functional.log_softmax(x, dim=-1)"),
        ("torch.log(1 + torch.exp(x))", "torch.nn.functional.softplus(x)"),
        ("x.exp().sum(-1).log()", "torch.logsumexp(x, -1)"),
        ("torch.log(1 - x.sigmoid())", "torch.nn.functional.logsigmoid(-(x))"),
        ("torch.linalg.det(x).abs().log()", "torch.linalg.slogdet(x).logabsdet"),
    ],
)
def test_spelled_out_forms_are_recognised(text: str, result: str) -> None:
    from nanscope.fixes.families.stable import Form
    from nanscope.fixes.source import Source
    from nanscope.fixes.syntax import subject

    source = Source("/x/a.py", "a.py", f"import torch\ny = {text}\n".encode())
    call = source.tree.body[1].value  # type: ignore[attr-defined]
    argument = subject(source, call)
    assert argument is not None
    found = Form(source, "torch").log(argument)
    assert found is not None and found[1] == result
