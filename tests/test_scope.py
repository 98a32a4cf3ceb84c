"""`with nanscope.watch()`: inside one process, and gone without a trace afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import nanscope
from tests.launch import Result, explained, forked

STEPS = 3


def train(bad: int | None = None, opt: object = None, model: object = None) -> object:
    import torch

    model = model or torch.nn.Linear(4, 1)
    opt = opt or torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(STEPS):
        out = model(torch.randn(8, 4))
        loss = (out - 100).log().mean() if step == bad else out.square().mean()  # BAD
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


BAD = next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith("# BAD"))


def inside(folder: Path, body: Callable[[], None]) -> Result:
    """`body` in a process of its own; a failed assertion in it fails the test."""

    def action() -> int:
        body()
        return 0

    ran = forked(folder, action)
    assert ran.status == 0, ran.err
    return ran


def patched() -> dict[str, object]:
    """Everything that a watch may replace, by name."""
    import torch
    import torch.utils.checkpoint
    from torch.optim import optimizer
    from torch.utils.data import DataLoader
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    found: dict[str, object] = {}
    places = (
        torch, torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.autograd, torch.autograd.Function, torch.nn.utils,
        torch.nn.utils.clip_grad, torch.nn.utils.stateless, torch.utils.checkpoint, torch.func, torch.amp.GradScaler,
        torch.cuda.CUDAGraph,
        torch.distributed, torch.nn.parallel.DistributedDataParallel, DataLoader, _BaseDataLoaderIter,
        *(getattr(torch.optim, name) for name in ("SGD", "Adam", "AdamW", "LBFGS", "Adagrad", "RMSprop")),
    )  # fmt: skip
    for place in places:
        held = {name: value for name, value in vars(place).items() if callable(value) or name == "apply"}
        found.update({f"{place.__name__}.{name}": value for name, value in held.items()})
    found["function modes"] = torch._C._len_torch_function_stack()
    found["dispatch modes"] = torch._C._len_torch_dispatch_stack()
    for name in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"):
        found[name] = list(getattr(optimizer, name).values())
    hooks = torch.nn.modules.module
    for name in ("forward_hooks", "forward_pre_hooks", "backward_hooks", "module_registration_hooks"):
        found[name] = list(getattr(hooks, f"_global_{name}").values())
    found["saved tensor hooks"] = torch._C._autograd._top_saved_tensors_default_hooks(False)
    found["grad mode"] = torch.is_grad_enabled()
    return found


def differences(before: dict[str, object]) -> list[str]:
    after = patched()
    return sorted(name for name in {**before, **after} if before.get(name) != after.get(name))


def test_report(tmp_path: Path) -> None:
    def body() -> None:
        with nanscope.watch(out="run") as scope:
            assert scope.report is None
            train(bad=1)
            raise AssertionError("the block goes on after a stop")
        assert scope.report is not None
        assert scope.report["verdict"] == "nonfinite"
        assert scope.report["trip"]["step"] == 1
        assert (scope.report["origin"]["file"].rsplit("/", 1)[-1], scope.report["origin"]["line"]) == (
            "test_scope.py",
            BAD,
        )
        assert scope.folder == "run"

    ran = inside(tmp_path, body)
    assert f"test_scope.py:{BAD}" in ran.out
    assert explained(tmp_path)["origin"]["line"] == BAD


def test_quiet(tmp_path: Path) -> None:
    def body() -> None:
        with nanscope.watch(out="run", quiet=True) as scope:
            train(bad=1)
        assert scope.report is not None and scope.report["origin"]["line"] == BAD

    ran = inside(tmp_path, body)
    assert (ran.out, ran.err) == ("", "")


def test_healthy_block(tmp_path: Path) -> None:
    def body() -> None:
        with nanscope.watch(out="run") as scope:
            train()
        assert scope.report is None

    ran = inside(tmp_path, body)
    assert (ran.out, ran.err) == ("", "")
    assert explained(tmp_path)["run"]["steps"] == STEPS


@pytest.mark.parametrize("bad", [None, 1])
@pytest.mark.parametrize("mode", ["stop", "skip", "continue"])
def test_nothing_stays_patched(tmp_path: Path, bad: int | None, mode: str) -> None:
    def body() -> None:
        import torch

        before = patched()
        with nanscope.watch(out="run", on_trip=mode, quiet=True):
            assert torch.nn.Module.__call__ is not before["Module.__call__"]
            assert differences(before), "a watch that patches nothing sees nothing"
            train(bad)
        assert differences(before) == []

    inside(tmp_path, body)


def test_nothing_stays_patched_after_an_exception(tmp_path: Path) -> None:
    def body() -> None:
        import torch

        before = patched()
        try:
            with nanscope.watch(out="run"):
                train()
                torch.nn.Linear(2, 2)(torch.ones(3))
        except RuntimeError as error:
            assert "shapes" in str(error)
        else:
            raise AssertionError("the exception was swallowed")
        assert differences(before) == []

    inside(tmp_path, body)


def test_patches_of_others_survive(tmp_path: Path) -> None:
    """A function mode pushed inside the block and left open is still there afterwards, ours is not."""

    def body() -> None:
        import torch

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        scope = nanscope.watch(out="run")
        scope.__enter__()
        mode = Mode()
        mode.__enter__()
        train()
        scope.__exit__(None, None, None)
        assert torch._C._len_torch_function_stack() == 1
        mode.__exit__(None, None, None)
        assert torch._C._len_torch_function_stack() == 0

    inside(tmp_path, body)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exceptions_go_through(tmp_path: Path, error: type[BaseException]) -> None:
    def body() -> None:
        raised = error("of its own")
        try:
            with nanscope.watch(out="run") as scope:
                train()
                raise raised
        except error as caught:
            assert caught is raised
        else:
            raise AssertionError("swallowed")
        assert scope.report is None

    ran = inside(tmp_path, body)
    assert ran.out == ""
    assert explained(tmp_path)["verdict"] == "finite"


def test_optimizer_made_before_the_block(tmp_path: Path) -> None:
    def body() -> None:
        import torch

        model = torch.nn.Linear(4, 1)
        opt = torch.optim.Adam(model.parameters())
        train(opt=opt, model=model)
        with nanscope.watch(out="run", quiet=True) as scope:
            train(bad=2, opt=opt, model=model)
        assert scope.report is not None
        assert (scope.report["trip"]["step"], scope.report["origin"]["line"]) == (2, BAD)
        assert all(p.isfinite().all() for p in model.parameters())

    inside(tmp_path, body)


def test_watch_inside_a_watch(tmp_path: Path) -> None:
    def body() -> None:
        before = patched()
        with nanscope.watch(out="run") as outer:
            try:
                with nanscope.watch(out="inner"):
                    raise AssertionError("two watches at once")
            except RuntimeError as error:
                assert "watched already" in str(error)
            assert not Path("inner").exists(), "a watch that was refused leaves no folder"
            train(bad=1)
        assert outer.report is not None and outer.report["origin"]["line"] == BAD
        assert differences(before) == []

    inside(tmp_path, body)


def test_a_second_watch_after_the_first(tmp_path: Path) -> None:
    def body() -> None:
        for number, bad in enumerate((None, 1, 0, None)):
            with nanscope.watch(out=f"run-{number}", quiet=True) as scope:
                train(bad)
            assert (scope.report is None) == (bad is None)
            if scope.report is not None:
                assert scope.report["trip"]["step"] == bad

    inside(tmp_path, body)
    assert [explained(tmp_path, f"run-{n}")["verdict"] for n in range(4)] == [
        "finite",
        "nonfinite",
        "nonfinite",
        "finite",
    ]


def test_a_scope_used_twice(tmp_path: Path) -> None:
    """The folder of the first block is not written over; a scope without a name of its own makes a new folder."""

    def body() -> None:
        scope = nanscope.watch(out="run", quiet=True)
        with scope:
            train(bad=1)
        try:
            with scope:
                train()
        except OSError as error:
            assert "run" in str(error)
        else:
            raise AssertionError("the second block wrote over the first")

    inside(tmp_path, body)
    assert explained(tmp_path)["verdict"] == "nonfinite"


def test_a_report_does_not_outlive_its_block(tmp_path: Path) -> None:
    def body() -> None:
        scope = nanscope.watch(quiet=True)
        with scope:
            train(bad=1)
        first = scope.folder
        assert scope.report is not None
        with scope:
            assert scope.report is None
            train()
        assert scope.report is None
        assert scope.folder != first

    inside(tmp_path, body)


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    def body() -> None:
        Path("file").write_text("kept")
        before = patched()
        try:
            with nanscope.watch(out="file/run"):
                raise AssertionError("ran without a folder")
        except OSError as error:
            assert "file/run" in str(error)
        assert differences(before) == []
        with nanscope.watch(out="run", quiet=True) as scope:
            train(bad=1)
        assert scope.report is not None

    inside(tmp_path, body)


def test_option_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="expected 'stop', 'skip' or 'continue', got 'explode'"):
        nanscope.watch(on_trip="explode")


def test_skip(tmp_path: Path) -> None:
    def body() -> None:
        with nanscope.watch(out="run", on_trip="skip", quiet=True) as scope:
            model = train(bad=1)
        assert scope.report is not None and scope.report["trip"]["step"] == 1
        assert all(p.isfinite().all() for p in model.parameters())

    inside(tmp_path, body)


def test_names() -> None:
    assert sorted(nanscope.__all__) == sorted(["Scope", "__version__", "watch"])
    assert all(hasattr(nanscope, name) for name in nanscope.__all__)


def test_import_brings_neither_torch_nor_numpy() -> None:
    program = "import sys, nanscope; print([m for m in ('torch', 'numpy', 'nanscope.watcher') if m in sys.modules], nanscope.watch)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("[] <function watch")
