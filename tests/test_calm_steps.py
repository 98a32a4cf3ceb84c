"""Steps in which all is well run no Python of the watch: also with a schedule, a `GradScaler`, parameters in bfloat16."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nanscope.watcher import Watcher
from tests.launch import plain, watched
from tests.test_clipping import steps

PROGRAM = """\
import json
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))MORE
opt = torch.optim.AdamW(net.parameters(), 1e-2)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + step))
scaler = torch.amp.GradScaler("cpu", init_scale=FACTOR, growth_interval=25, enabled=SCALED)
for step in range(120):
    x = torch.randn(5, 6).to(net[0].weight.dtype)
    BEFORE
    loss = net(x).square().mean()
    opt.zero_grad()
    scaler.scale(loss).backward()
    UNSCALE
    scale = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    sched.step()
    print(json.dumps([step, loss.item(), scale, net[0].weight.double().sum().item()]), flush=True)
"""
CLIP = "scaler.unscale_(opt); torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)"


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps at which Python was asked go to `asked` in the working directory."""
    before = Watcher.before_step

    def before_step(self: Watcher, optimizer: object) -> bool:
        with open("asked", "a") as file:
            file.write(f"{self.clock.step_of(optimizer)}\n")
        return before(self, optimizer)

    monkeypatch.setattr(Watcher, "before_step", before_step)


def program(
    more: str = "", scaled: bool = False, scale: str = "1024.0", before: str = "pass", unscale: str = "pass"
) -> str:
    code = PROGRAM.replace("MORE", more).replace("SCALED", str(scaled)).replace("FACTOR", scale)
    return code.replace("BEFORE", before).replace("UNSCALE", unscale)


def asked(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "asked").read_text().split()]


@pytest.mark.parametrize(("more", "scaled", "unscale"), [
    ("", False, "pass"), (".to(torch.bfloat16)", False, "pass"), ("", True, "pass"), ("", True, CLIP),
], ids=["schedule", "bfloat16", "scaler", "scaler and clipping"])  # fmt: skip
@pytest.mark.usefixtures("looked_at")
def test_python_is_not_asked(tmp_path: Path, more: str, scaled: bool, unscale: str) -> None:
    code = program(more, scaled, unscale=unscale)
    ran = watched(tmp_path, code)
    assert ran.status == 0, ran.err
    assert asked(tmp_path)[0] == 0 and asked(tmp_path)[-1] < 70
    assert len(steps(tmp_path)) == 120
    (tmp_path / "plain").mkdir()
    assert plain(tmp_path / "plain", code).out == ran.out


@pytest.mark.usefixtures("looked_at")
def test_a_rate_beyond_all_reason_is_looked_at(tmp_path: Path) -> None:
    """Nobody vouches for that update."""
    code = program(before="opt.param_groups[0]['lr'] = 1e7 if step == 100 else 0.0")
    found = watched(tmp_path, code)
    assert found.status == 0, found.err
    late = [step for step in asked(tmp_path) if step >= 70]
    assert late == [100]


def test_records_hold_the_loss_as_it_is_and_the_scale(tmp_path: Path) -> None:
    ran = watched(tmp_path, program(scaled=True))
    printed = [json.loads(line) for line in ran.out.splitlines() if line.startswith("[")]
    assert len({scale for _, _, scale, _ in printed}) == 5
    for record, (step, loss, scale, _) in zip(steps(tmp_path), printed, strict=True):
        assert (record["step"], record["loss"]) == (step, pytest.approx(loss, rel=1e-6))
        # It is read when the step is over, before `update`.
        assert record["scale"] == scale


@pytest.mark.parametrize("unscale", ["pass", CLIP])
@pytest.mark.usefixtures("looked_at")
def test_a_bad_loss_among_calm_steps_of_a_scaler(tmp_path: Path, unscale: str) -> None:
    code = program(scaled=True, before="x = (x - (9 if step == 100 else -9)).sqrt()", unscale=unscale)
    found = watched(tmp_path, code).found
    assert 99 not in asked(tmp_path)
    line = next(number for number, text in enumerate(code.splitlines(), 1) if ".sqrt()" in text)
    assert (found["trip"]["step"], found["origin"]["line"]) == (100, line)


@pytest.mark.usefixtures("looked_at")
def test_updates_left_out_among_calm_steps(tmp_path: Path) -> None:
    """Each is a step of the record; far apart they are no free fall of the scale, whatever it is."""
    code = program(scaled=True, scale="0.5", unscale="if step in (80, 90, 91, 100): net[2].bias.grad[1] = float('inf')")
    one = watched(tmp_path, code.replace("(80, 90, 91, 100)", "(80, 90, 100)"))
    assert (one.status, len(steps(tmp_path))) == (0, 120), one.err
    assert one.found["verdict"] == "finite"
    assert [step["step"] for step in steps(tmp_path) if "grad_norm" not in step] == [80, 90, 100]
    (tmp_path / "two").mkdir()
    two = watched(tmp_path / "two", code).found
    assert (two["trip"]["step"], two["trip"]["where"]) == (90, "scale")


RECREATED = """\
import torch
torch.manual_seed(0)
class Mine(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr, weight_decay=0.0))
    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            p.sub_(p.grad / (p.grad - p.grad))
net = torch.nn.Linear(6, 3)
def phase(make, steps):
    opt = make()
    for step in range(steps):
        loss = net(torch.rand(5, 6)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return id(opt)
used = [phase(lambda: torch.optim.SGD(net.parameters(), lr=lr), 3) for lr in (0.1, 0.05, 0.02, 0.01, 0.005)]
print(phase(lambda: Mine(net.parameters(), lr=0.2), 1) in used)
"""


def test_an_optimizer_where_another_one_was(tmp_path: Path) -> None:
    """Nobody has vouched for this one."""
    found = watched(tmp_path, RECREATED).found
    assert (found["trip"]["step"], found["trip"]["where"]) == (15, "parameter")
