"""What is recorded of a step is the same on every way through the recording, and so is which step it is."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nanscope import _core
from tests.test_scope import inside

GROWN = 80  # steps after which modules are learnt, and an optimizer is watched for gradients that pile up no longer


class Optimizer:
    """Stands for one: a clock asks only who it is."""


def summary(value: Any) -> Any:
    import torch

    if isinstance(value, _core.Ref):
        return ("ref", value.event.kind, value.position)
    if isinstance(value, (tuple, list)):
        return tuple(summary(v) for v in value)
    if isinstance(value, dict):
        return {k: summary(v) for k, v in value.items()}
    return tuple(value.shape) if isinstance(value, torch.Tensor) else value


def recorded(backward: Callable[[Any], None], steps: int) -> list[Any]:
    """What the tape holds of the last of `steps` steps."""
    import torch
    from torch.nn import functional as F

    from nanscope import watcher

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    x, y = torch.tensor([[1.0] * 4] * 2), torch.tensor([0, 1])  # from outside the step
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        backward(loss)
        running = watcher._active
        assert running is not None
        tape = running.recorder.tape
        events = [
            (e.kind, getattr(e.target, "__name__", type(e.target).__name__), summary(e.args), summary(e.kwargs), e.outputs,
             e.scalar, e.value, e.grad_mode, e.autocast, e.failed)
            for e in tape.events
        ]  # fmt: skip
        recorder = running.recorder
        held = sorted(version for _, version in tape.held.values())
        rest = [held, recorder.backward_done, recorder.backwards, recorder.in_backward, len(recorder.roots)]
        optimizer.step()
    return [*events, *rest]


class Counted:
    """How often the long ways were gone."""

    def __init__(self) -> None:
        self.modules = self.backwards = 0

    def __enter__(self) -> None:
        from nanscope.capture import autograd, modules

        self.originals = modules._outermost, autograd.record

        def outermost(*args: Any) -> Any:
            self.modules += 1
            return self.originals[0](*args)

        def record(*args: Any) -> Any:
            self.backwards += 1
            return self.originals[1](*args)

        modules._outermost, autograd.record = outermost, record

    def __exit__(self, *_: object) -> None:
        from nanscope.capture import autograd, modules

        modules._outermost, autograd.record = self.originals


def test_short_and_long_way(tmp_path: Path) -> None:
    def body() -> None:
        import nanscope
        from nanscope.capture.state import LEARN_CALLS

        ways: dict[str, tuple[Callable[[Any], None], int]] = {
            "long": (lambda loss: loss.backward(None, None, False, None), 1),
            "short backward": (lambda loss: loss.backward(), 1),
            "short module": (lambda loss: loss.backward(None, None, False, None), GROWN),
            "short": (lambda loss: loss.backward(), GROWN),
        }
        found, calls = {}, {}
        for name, (backward, steps) in ways.items():
            counted = calls[name] = Counted()
            with counted, nanscope.watch(out=name):
                found[name] = recorded(backward, steps)
        # A module is learnt by its first calls; after that neither way calls Python.
        assert (calls["long"].modules, calls["long"].backwards) == (1, 1)
        assert (calls["short backward"].modules, calls["short backward"].backwards) == (1, 0)
        assert (
            LEARN_CALLS <= calls["short module"].modules == calls["short"].modules < GROWN // 4
        )  # and looked at again now and then
        assert calls["short module"].backwards == GROWN
        assert calls["short"].backwards < GROWN, "the last ones were short"
        kinds = [event[0] for event in found["long"][:3]]
        assert kinds == ["module", "function", "backward"]
        assert found["long"][2][6] > 0.0, "the loss was read"
        assert found["long"][3:] == [[0, 0], True, 1, False, 1]
        for name, what in found.items():
            assert what == found["long"], name

    inside(tmp_path, body)


def test_loss_that_is_a_lazy_negation(tmp_path: Path) -> None:
    """Its memory holds the other sign."""

    def body() -> None:
        import torch

        import nanscope
        from nanscope import watcher

        with nanscope.watch(out="run"):
            z = torch.tensor(1 + 2j, requires_grad=True)
            loss = z.conj().imag
            assert loss.is_neg()
            loss.backward()
            assert watcher._active is not None
            assert watcher._active.recorder.tape.events[-1].value == -2.0

    inside(tmp_path, body)


def test_stand_ins_look_like_what_they_stand_for(tmp_path: Path) -> None:
    def body() -> None:
        import inspect
        import weakref

        import torch

        import nanscope

        names = [(torch.Tensor, "backward"), (torch.autograd, "grad"), (torch.optim.Optimizer, "zero_grad")]
        before = [getattr(home, name) for home, name in names]
        with nanscope.watch(out="run"):
            for (home, name), was in zip(names, before, strict=True):
                now = getattr(home, name)
                assert now is not was
                assert (now.__name__, now.__module__, now.__doc__) == (was.__name__, was.__module__, was.__doc__)
                assert inspect.signature(now) == inspect.signature(was)
                assert weakref.ref(now)() is now
            x = torch.ones((), requires_grad=True)
            assert list(inspect.signature(x.backward).parameters) == [
                "gradient",
                "retain_graph",
                "create_graph",
                "inputs",
            ]
            torch.Tensor.backward(x * 2)
            assert x.grad is not None and x.grad.item() == 2

    inside(tmp_path, body)


def test_a_compiled_module_is_one_graph(tmp_path: Path) -> None:
    """As without a watch: what stands in for the call of a module is what torch.compile can read."""

    def body() -> None:
        import torch
        from torch._dynamo.utils import counters

        import nanscope

        with nanscope.watch(out="run"):
            model = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), backend="eager")
            model(torch.ones(2, 4)).sum().backward()
        assert counters["stats"]["unique_graphs"] == 1
        assert not counters["graph_break"]

    inside(tmp_path, body)


def test_clock_with_one_optimizer() -> None:
    clock, a = _core.Clock(), Optimizer()
    assert (clock.now(), clock.completed(), clock.step_of(a)) == (0, 0, 0)
    for step in range(3):
        assert clock.step_of(a) == step
        assert clock.stepped(a) == step
        assert clock.completed() == step + 1
    assert clock.now() == 3


def test_clock_with_two_optimizers() -> None:
    """As in a GAN: a round is a step of each; the discriminator may step more often."""
    clock, a, b = _core.Clock(), Optimizer(), Optimizer()
    assert [clock.stepped(x) for x in (a, b, a, b, a, a, b)] == [0, 0, 1, 1, 2, 3, 3]
    assert clock.step_of(a) == 4 and clock.completed() == 4 and clock.now() == 4


def test_clock_when_an_optimizer_goes() -> None:
    clock, a, b = _core.Clock(), Optimizer(), Optimizer()
    clock.stepped(a)
    clock.stepped(b)
    del b
    gc.collect()
    assert clock.step_of(a) == 1
    assert clock.stepped(a) == 1
