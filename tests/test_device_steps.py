"""Steps on a device, judged a step later. No device is needed: tensors of the CPU count as such, and torch's fused optimizers leave
an update out there as they do on a GPU."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nanscope import _core
from nanscope.capture import autograd
from nanscope.device import later
from nanscope.watcher import Watcher
from tests.launch import Result, plain, watched
from tests.test_clipping import steps

PROGRAM = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
opt = torch.optim.OPTIMIZER
given = torch.empty(5, 6)
for step in range(100):
    x = torch.rand(5, 6) + 0.1
    BEFORE
    loss = net(x.log()).square().mean()
    opt.zero_grad()
    loss.backward()
    AFTER
    opt.step()
    print(step, *(p.detach().double().sum().item().hex() for p in net.parameters()), flush=True)
"""
FUSED = "AdamW(net.parameters(), 1e-2, fused=True)"
BAD = "x[2, 3] -= 5 if step == 90 else 0"


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read in place; `waited` in the working directory has a line for each step that was judged later."""
    real = _core.look

    def look(groups: list[dict[str, Any]]) -> Any:
        seen = real(groups)
        unread = [(p, g) for g, group in enumerate(groups) for p in group["params"] if p.grad is not None]
        return SimpleNamespace(
            bad=None, largest=0.0, squares=[0.0] * len(groups), zeros=[], gradients=0, unread=unread or None,
            lr=seen.lr, settings=seen.settings, limits=seen.limits,
        )  # fmt: skip

    def loss_seen(self: Watcher, event: Any, roots: list[torch.Tensor]) -> None:
        self.device_loss = (event, roots[0].detach())
        self.calm.forget()

    class Noted(later.Later):
        def __init__(self, optimizer: Any, look: Any, step: int, *rest: Any) -> None:
            super().__init__(optimizer, look, step, *rest)
            with open("waited", "a") as file:
                file.write(f"{step}\n")

    monkeypatch.setattr(_core, "look", look)
    monkeypatch.setattr(Watcher, "loss_seen", loss_seen)
    monkeypatch.setattr(Watcher, "_learn", lambda *_: None)
    monkeypatch.setattr(later, "Later", Noted)
    monkeypatch.setattr(later, "DEVICES", {"cpu"})
    # The plain backward in Rust would read the loss where it lies.
    monkeypatch.setattr(
        _core, "Backward", lambda recorder, _, original, other, __: autograd._at_top_level(recorder, original, other)
    )


def program(optimizer: str = FUSED, before: str = "pass", after: str = "pass") -> str:
    return PROGRAM.replace("OPTIMIZER", optimizer).replace("BEFORE", before).replace("AFTER", after)


def waited(folder: Path) -> list[int]:
    path = folder / "waited"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def alone(folder: Path, code: str) -> Result:
    (folder / "plain").mkdir()
    return plain(folder / "plain", code)


def line_of(code: str, text: str) -> int:
    return next(number for number, line in enumerate(code.splitlines(), 1) if text in line)


@pytest.mark.parametrize("optimizer", [
    FUSED, "Adam(net.parameters(), 1e-2, amsgrad=True, fused=True)", "SGD(net.parameters(), 1e-2, momentum=0.9, fused=True)",
    "Adagrad(net.parameters(), 1e-2, fused=True)",
])  # fmt: skip
@pytest.mark.usefixtures("on_device")
def test_the_same_bits(tmp_path: Path, optimizer: str) -> None:
    code = program(optimizer)
    ran = watched(tmp_path, code)
    assert ran.status == 0, ran.err
    assert waited(tmp_path) == list(range(waited(tmp_path)[0], 100))
    assert len(waited(tmp_path)) >= 30
    assert [step["step"] for step in steps(tmp_path)] == list(range(100))
    assert all(step["grad_norm"] >= step["grad_max"] > 0 and step["loss"] > 0 for step in steps(tmp_path))
    assert ran.out == alone(tmp_path, code).out


@pytest.mark.usefixtures("on_device")
def test_the_numbers_are_those_of_steps_that_are_judged_at_once(tmp_path: Path) -> None:
    (tmp_path / "now").mkdir(), (tmp_path / "later").mkdir()
    watched(tmp_path / "later", program())
    watched(tmp_path / "now", program("AdamW(net.parameters(), 1e-2)"))
    assert (len(waited(tmp_path / "later")) >= 30, waited(tmp_path / "now")) == (True, [])
    for a, b in zip(steps(tmp_path / "later"), steps(tmp_path / "now"), strict=True):
        assert a == pytest.approx(b, rel=1e-4)


@pytest.mark.parametrize("step", [80, 99])
@pytest.mark.usefixtures("on_device")
def test_a_bad_step_is_found_with_its_line_and_makes_no_update(tmp_path: Path, step: int) -> None:
    code = program(before=BAD.replace("90", str(step)))
    ran = watched(tmp_path, code)
    assert step in waited(tmp_path)
    found = ran.found
    assert (found["trip"]["step"], found["origin"]["line"]) == (step, line_of(code, "x.log()"))
    assert found["replay"]["faithful"]
    printed = [line.split(" ", 1)[1] for line in ran.out.splitlines()[: step + 1]]
    assert len(printed) == step + 1, "the program has gone on into the next step"
    assert printed[step] == printed[step - 1] != printed[step - 2]


@pytest.mark.usefixtures("on_device")
def test_skipped_and_gone_on_with(tmp_path: Path) -> None:
    """As if the program itself had left that update out."""
    skips = program(before=BAD).replace("    opt.step()", "    if step != 90: opt.step()")
    code = program(before=BAD)
    ran = watched(tmp_path, code, options=("--on-trip", "skip"))
    assert (ran.found["trip"]["step"], 90 in waited(tmp_path)) == (90, True)
    # The batch norm has met the bad input in both; the report comes after.
    assert ran.out.startswith(alone(tmp_path, skips).out)


@pytest.mark.usefixtures("on_device")
def test_continue_makes_the_bad_update(tmp_path: Path) -> None:
    code = program(before=BAD)
    ran = watched(tmp_path, code, options=("--on-trip", "continue"))
    assert (ran.found["trip"]["step"], waited(tmp_path)) == (90, [])
    assert ran.out.startswith(alone(tmp_path, code).out)


@pytest.mark.usefixtures("on_device")
def test_an_input_that_the_next_step_writes_over(tmp_path: Path) -> None:
    code = program(before="given.copy_(x); given[2, 3] -= 5 if step == 90 else 0; x = given")
    found = watched(tmp_path, code).found
    assert (found["trip"]["step"], found["replay"]["faithful"]) == (90, True)
    assert found["origin"]["line"] == line_of(code, "x.log()")


@pytest.mark.usefixtures("on_device")
def test_parameters_that_the_program_changes_after_the_step(tmp_path: Path) -> None:
    clamped = "with torch.no_grad(): net[0].weight.clamp_(-0.3, 0.3)"
    code = program(before=BAD).replace("    print(", f"    {clamped}\n    print(")
    found = watched(tmp_path, code).found
    assert (found["trip"]["step"], found["replay"]["faithful"]) == (90, True)


@pytest.mark.usefixtures("on_device")
def test_a_buffer_that_became_bad(tmp_path: Path) -> None:
    code = program(before="net[1].momentum = 1e300 if step == 90 else 0.1")
    found = watched(tmp_path, code).found
    assert (found["trip"]["step"], found["trip"]["where"], 90 in waited(tmp_path)) == (90, "buffer", True)


@pytest.mark.usefixtures("on_device")
def test_a_gradient_that_is_bad_where_the_loss_is_not(tmp_path: Path) -> None:
    code = program(after="if step == 90: net[3].weight.grad[1, 1] = float('inf')")
    found = watched(tmp_path, code).found
    assert (found["trip"]["step"], found["trip"]["where"], found["trip"]["kind"]) == (90, "gradient", "inf")


@pytest.mark.usefixtures("on_device")
def test_a_program_that_ends_because_of_the_loss(tmp_path: Path) -> None:
    code = program(before=BAD).replace("    print(", "    if loss.isnan(): raise SystemExit('NaN')\n    print(")
    found = watched(tmp_path, code).found
    assert (found["trip"]["step"], found["origin"]["line"]) == (90, line_of(code, "x.log()"))


@pytest.mark.usefixtures("on_device")
def test_an_optimizer_that_raises_is_as_it_was(tmp_path: Path) -> None:
    code = program(after="if step == 90: opt.param_groups[0]['betas'] = None").replace(
        "    opt.step()",
        "    try: opt.step()\n    except TypeError: print('raised', hasattr(opt, 'found_inf'), flush=True)\n"
        "    opt.param_groups[0]['betas'] = (0.9, 0.999)",
    )
    ran = watched(tmp_path, code)
    assert (ran.status, "raised False" in ran.out) == (0, True), ran.err
    assert ran.out == alone(tmp_path, code).out


SCALED = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
opt = torch.optim.AdamW(net.parameters(), 1e-2, FUSED)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=10)
for step in range(120):
    x = torch.rand(16, 8)
    BEFORE
    with torch.autocast("cpu", torch.float16):
        out = net(x)
    loss = torch.nn.functional.mse_loss(out.float(), x.sum(1, keepdim=True))
    opt.zero_grad()
    scaler.scale(loss).backward()
    UNSCALE
    scaler.step(opt)
    scaler.update()
    print(step, loss.item().hex(), scaler.get_scale(), hasattr(opt, "found_inf"), flush=True)
"""
UNSCALED = "scaler.unscale_(opt); torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)"


def scaled(before: str = "pass", unscale: str = "pass", fused: str = "fused=True") -> str:
    return SCALED.replace("BEFORE", before).replace("UNSCALE", unscale).replace("FUSED", fused)


@pytest.mark.parametrize("unscale", ["pass", UNSCALED])
@pytest.mark.parametrize("where", ["on the CPU", "on a device"])
def test_a_scaler_that_leaves_updates_out_inside_a_fused_optimizer(
    tmp_path: Path, where: str, unscale: str, request: pytest.FixtureRequest
) -> None:
    if where == "on a device":
        request.getfixturevalue("on_device")
    code = scaled(unscale=unscale)
    ran = watched(tmp_path, code)
    assert (ran.status, ran.report) == (0, ran.report), ran.err
    assert ran.found["verdict"] == "finite"
    assert ran.out == alone(tmp_path, code).out
    assert (len(waited(tmp_path)) > 20) == (where == "on a device")
    kept = [step for step in steps(tmp_path) if "grad_norm" in step]
    assert 60 < len(kept) < 110, "left out 28 times at the beginning, and now and then later"
    assert all(step["grad_norm"] < 1e4 for step in kept), "the scale is not in them"


@pytest.mark.parametrize("where", ["on the CPU", "on a device"])
def test_a_loss_that_is_bad_under_a_fused_scaler(tmp_path: Path, where: str, request: pytest.FixtureRequest) -> None:
    if where == "on a device":
        request.getfixturevalue("on_device")
    code = scaled(before="x = (x - (0.999 if step == 100 else 0)).sqrt()")
    found = watched(tmp_path, code).found
    assert (found["trip"]["step"], found["origin"]["line"]) == (100, line_of(code, ".sqrt()"))


def test_a_fused_scaler_in_free_fall(tmp_path: Path) -> None:
    """No scale fits where a gradient is infinite without one."""
    code = scaled(before="x = x * (1e30 if step >= 60 else 1)")
    fused, foreach = tmp_path / "fused", tmp_path / "foreach"
    fused.mkdir(), foreach.mkdir()
    found = watched(fused, code).found
    other = watched(foreach, scaled(before="x = x * (1e30 if step >= 60 else 1)", fused="fused=False")).found
    assert found["verdict"] == other["verdict"] == "nonfinite"
    assert (found["trip"]["where"], found["origin"]["line"]) == (other["trip"]["where"], other["origin"]["line"])


CAPTURED = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), 1e-2)
graph = torch.cuda.CUDAGraph.__new__(torch.cuda.CUDAGraph)
for step in range(6):
    x = torch.rand(5, 6) - (5 if step in (1, 4) else -0.1)
    if step == 1:
        graph.capture_begin(pool=None)
    loss = net(x.log()).square().mean()
    opt.zero_grad()
    loss.backward()
    if step == 1:
        for p in net.parameters():
            p.grad.zero_()
    opt.step()
    if step == 1:
        END
"""


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture that needs no device: here what is captured runs."""
    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_begin", lambda self, pool: None)
    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_end", lambda self: None)


@pytest.mark.usefixtures("graphs")
def test_nothing_is_read_while_a_graph_is_captured(tmp_path: Path) -> None:
    code = CAPTURED.replace("END", "graph.capture_end()")
    ran = watched(tmp_path, code)
    assert (ran.found["trip"]["step"], ran.found["origin"]["line"]) == (3, line_of(code, "x.log()"))  # one was not seen
    assert ran.err.count(f"a CUDA graph was captured (program.py:{line_of(code, 'capture_end')})") == 1


@pytest.mark.usefixtures("graphs")
def test_a_capture_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Any, pool: Any) -> None:
        raise RuntimeError("not in this stream")

    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_begin", refused)
    code = CAPTURED.replace("END", "pass").replace(
        "        graph.capture_begin(pool=None)",
        "        try: graph.capture_begin(pool=None)\n        except RuntimeError: pass",
    )
    ran = watched(tmp_path, code)
    assert (ran.found["trip"]["step"], "CUDA graph" in ran.err) == (1, False)


@pytest.mark.usefixtures("on_device")
def test_gradients_that_are_finite_and_beyond_all_reason(tmp_path: Path) -> None:
    """Their squares are infinite, and so is the optimizer's state after a step. It is made as in a plain run, and told."""
    code = program(after="if step == 90: net[3].weight.grad[1, 1] = 1e30")
    ran = watched(tmp_path, code)
    assert (ran.found["trip"]["step"], ran.found["trip"]["where"]) == (90, "state")
    (tmp_path / "finite").mkdir()
    large = watched(tmp_path / "finite", code.replace("1e30", "1e16"))
    assert (large.status, len(waited(tmp_path / "finite"))) == (0, 35), large.err
    assert large.out == alone(tmp_path, code.replace("1e30", "1e16")).out


@pytest.mark.usefixtures("on_device")
def test_a_gradient_that_became_bad_after_the_scaler_has_looked(tmp_path: Path) -> None:
    edit = "scaler.unscale_(opt); net[2].bias.grad.div_(net[2].bias.grad.norm() * (step != 100))"
    code = scaled(unscale=edit).replace("2.0**40", "2.0**10") + "    print(net[2].bias.item(), flush=True)\n"
    ran = watched(tmp_path, code)
    assert (ran.found["trip"]["step"], ran.found["trip"]["where"]) == (100, "gradient")
    assert "nan" not in ran.out.split("error[")[0]


CLOSURE = """\
import torch
torch.manual_seed(0)
net = torch.nn.Linear(6, 3)
opt = torch.optim.AdamW(net.parameters(), 1e-2, fused=True)
for step in range(100):
    def closure():
        if step == 80:
            raise LookupError("a batch that the program skips")
        opt.zero_grad()
        loss = net(torch.rand(5, 6) - (9 if step == 90 else -1)).log().mean()
        loss.backward()
        return loss
    try:
        opt.step(closure)
    except LookupError as error:
        print("caught", error, flush=True)
"""


@pytest.mark.usefixtures("on_device")
def test_closures(tmp_path: Path) -> None:
    code = CLOSURE.replace(".log()", ".square().add(9 if step != 90 else -1e9).log()")
    ran = watched(tmp_path, code)
    assert "caught a batch that the program skips" in ran.out
    assert ran.found["trip"]["step"] == 89, "one step was not made"
    assert 88 in waited(tmp_path)


NORMED = """\
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
net.register_buffer("best", torch.tensor(float("inf")))
def note(module, inputs, result):
    module.best.add_(1)
net.register_forward_hook(note)
opt = torch.optim.AdamW(net.parameters(), 1e-2, fused=True)
for step in range(95):
    x = torch.rand(16, 8) * (1e25 if step == 90 else 1)
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    before = net[0].weight.detach().clone()
    opt.step()
    print(step, not torch.equal(before, net[0].weight), flush=True)
"""


@pytest.mark.usefixtures("on_device")
def test_a_buffer_that_became_bad_and_one_that_was_always(tmp_path: Path) -> None:
    ran = watched(tmp_path, NORMED)
    found = ran.found
    assert (found["trip"]["step"], found["trip"]["where"], found["replay"]["faithful"]) == (90, "buffer", True)
    assert found["replay"]["method"] == "tape"
    lines = ran.out.splitlines()[:91]
    assert lines == [f"{step} {step != 90}" for step in range(91)], "no update but that one was left out"


@pytest.mark.usefixtures("on_device")
def test_every_step_is_recorded_once_as_it_was(tmp_path: Path) -> None:
    """A second trip, in the last step; a schedule that has moved on by the time of the record."""
    code = program(before="x[2, 3] -= 5 if step in (80, 99) else 0").replace("1e-2", "1.0").replace(
        "given =", "sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: step / 1000); given ="
    )  # fmt: skip
    code = code.replace("    print(", "    sched.step()\n    print(")
    ran = watched(tmp_path, code, options=("--on-trip", "skip"))
    records = steps(tmp_path)
    assert [step["step"] for step in records] == list(range(100))
    assert [step["lr"] for step in records] == pytest.approx([step / 1000 for step in range(100)])
    assert [step["step"] for step in records if step["skipped"]] == [80, 99]
    assert "1 more trips were not diagnosed" in str(ran.found["warnings"])


@pytest.mark.usefixtures("on_device")
def test_a_loss_that_no_scaler_has_scaled(tmp_path: Path) -> None:
    code = scaled().replace("2.0**40", "2.0**10").replace("range(120)", "range(160)")
    code = code.replace("scaler.scale(loss).backward()", "(scaler.scale(loss) if step < 120 else loss).backward()")
    code = code.replace("scaler.step(opt)", "scaler.step(opt) if step < 120 else opt.step()")
    code = code.replace("scaler.update()", "if step < 120: scaler.update()")
    ran = watched(tmp_path, code)
    printed = [float.fromhex(line.split()[1]) for line in ran.out.splitlines()[:160]]
    assert [step["loss"] for step in steps(tmp_path)] == pytest.approx(printed, rel=1e-5)


PHASES = """\
import gc
import torch
import weakref
def phase():
    net = torch.nn.Linear(64, 64)
    opt = torch.optim.AdamW(net.parameters(), 1e-2, fused=True)
    for step in range(80):
        opt.zero_grad()
        net(torch.rand(5, 64)).square().mean().backward()
        opt.step()
    return [weakref.ref(x) for x in (net, opt, net.weight)]
for _ in range(2):
    held = phase()
    gc.collect()
    print([x() is None for x in held], flush=True)
"""


@pytest.mark.usefixtures("on_device")
def test_nothing_is_kept_of_a_model_that_is_gone(tmp_path: Path) -> None:
    ran = watched(tmp_path, PHASES)
    assert ran.out.splitlines()[:2] == [str([True] * 3)] * 2
    assert [step["step"] for step in steps(tmp_path)] == list(range(160))


@pytest.mark.usefixtures("on_device")
def test_a_device_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program's own error is told, not that of a read."""

    def read(self: later.Later) -> None:
        raise RuntimeError("device-side assert triggered")

    monkeypatch.setattr(later.Later, "read", read)
    code = program().replace("    print(", "    if step == 90: raise LookupError('the program fails')\n    print(")
    ran = watched(tmp_path, code)
    assert ("LookupError: the program fails" in ran.err, ran.err.count("was not judged")) == (True, 26)
    assert "Traceback" in ran.err and "later.py" not in ran.err


@pytest.mark.parametrize("fused", ["fused=True", "fused=False"])
@pytest.mark.usefixtures("on_device")
def test_a_loss_that_is_infinite_for_its_scale_only(tmp_path: Path, fused: str) -> None:
    """On a device nobody has read it without."""
    code = scaled(fused=fused).replace("2.0**40", "2.0**127").replace("range(120)", "range(180)")
    ran = watched(tmp_path, code)
    assert (ran.status, ran.found["verdict"], len(steps(tmp_path))) == (0, "finite", 180), ran.err
    assert ran.out == alone(tmp_path, code).out
    assert (len(waited(tmp_path)) > 60) == (fused == "fused=True")


@pytest.mark.usefixtures("on_device")
def test_a_bad_loss_that_the_scaler_hides(tmp_path: Path) -> None:
    """It leaves that update out and goes on; no optimizer steps in which the loss would be read."""
    code = scaled(before="x = (x - (0.999 if step == 100 else 0)).sqrt()", fused="fused=False")
    found = watched(tmp_path, code).found
    assert (found["trip"]["step"], found["origin"]["line"]) == (100, line_of(code, ".sqrt()"))
