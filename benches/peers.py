"""Every way of looking at a training step that is compared: how it is put around the step, and whether it is there.

A mode is entered for a block of steps; inside, it hands out the step to call. What it leaves on the model is removed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from benches.models import Training

Step = Callable[[], Any]


@contextlib.contextmanager
def plain(training: Training) -> Iterator[Step]:
    yield training.step


@contextlib.contextmanager
def nanscope(training: Training) -> Iterator[Step]:
    from nanscope.watcher import Watcher

    folder = tempfile.mkdtemp()
    shared = folder
    if training.part is not None:
        found = [folder]
        torch.distributed.broadcast_object_list(found)
        shared = found[0]
    watcher = Watcher(script="bench", argv=[], out=f"{shared}/run", part=training.part)
    watcher.start()
    try:
        yield training.step
    finally:
        watcher.finish("finished")
        if training.part is not None:
            torch.distributed.barrier()
        shutil.rmtree(folder)


@contextlib.contextmanager
def anomaly(training: Training) -> Iterator[Step]:
    with torch.autograd.set_detect_anomaly(True):
        yield training.step


class Checked(TorchDispatchMode):
    """Looks at every floating output of every operator. It counts and does not stop: memory that is not filled yet may hold
    anything."""

    found = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in tree_iter(out):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and not tensor.isfinite().all():
                self.found += 1
        return out


@contextlib.contextmanager
def dispatch(training: Training) -> Iterator[Step]:
    def step() -> None:
        with Checked():
            training.step()

    yield step


@contextlib.contextmanager
def debug_mode(training: Training) -> Iterator[Step]:
    """As its own documentation records a step: modules, stacks, and here a look at every output. A new one for each step,
    since it keeps what it has recorded."""
    from torch.utils._debug_mode import DebugMode

    def finite(func: Any, types: Any, args: Any, kwargs: Any, result: Any) -> dict[str, Any]:
        looked = [t for t in tree_iter(result) if isinstance(t, torch.Tensor) and t.is_floating_point()]
        return {"finite": all(bool(t.isfinite().all()) for t in looked)}

    def step() -> None:
        with DebugMode(record_nn_module=True, record_stack_trace=True), DebugMode.dispatch_hooks(log_hook=finite):
            training.step()

    yield step


@contextlib.contextmanager
def left_as_was(training: Training) -> Iterator[None]:
    """Afterwards the modules have the hooks and the `forward` that they had."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    modules = list(training.model.modules())
    had = [(module, kind, list(getattr(module, kind))) for module in modules for kind in kinds]
    own = {id(module) for module in modules if "forward" in vars(module)}
    try:
        yield
    finally:
        for module, kind, keys in had:
            hooks = getattr(module, kind)
            for key in [key for key in hooks if key not in keys]:
                del hooks[key]
        for module in modules:
            if id(module) not in own:
                vars(module).pop("forward", None)


@contextlib.contextmanager
def underflow_overflow(training: Training) -> Iterator[Step]:
    from transformers.debug_utils import DebugUnderflowOverflow

    with left_as_was(training):
        DebugUnderflowOverflow(training.model)
        yield training.step


@contextlib.contextmanager
def sherlorch(training: Training) -> Iterator[Step]:
    """With stacks: without them it names no line."""
    from sherlorch import trace

    def step() -> None:
        with trace(capture_stack=True) as traced:
            traced.watch(training.model)
            loss = training.loss()
        training.update(loss)

    with left_as_was(training):
        yield step


@contextlib.contextmanager
def torchlens(training: Training) -> Iterator[Step]:
    """The step, and a search for NaN in the forward pass of its batch. Torch's functions, which it wraps for good, are put
    back, or every later step of any mode would be slower."""
    from torchlens import debug
    from torchlens.backends.torch.wrappers import unwrap_torch

    def step() -> None:
        *inputs, target = training.batch()
        debug.find_nan(training.model, inputs if len(inputs) > 1 else inputs[0])
        training.update(training.criterion(training.forward(*inputs), target))

    with left_as_was(training):
        try:
            yield step
        finally:
            unwrap_torch()


@contextlib.contextmanager
def aorta(training: Training) -> Iterator[Step]:
    """With its own defaults: outputs and input gradients of linear layers, read once a step."""
    os.environ.setdefault("NANLOG_DIR", f"{tempfile.gettempdir()}/nanscope-bench-aorta")  # read at import
    from aorta.instrumentation.layer_numerics import instrument_nan_logger as logger

    with left_as_was(training):
        logger._attach(training.model)
        training.model.register_forward_pre_hook(logger._root_pre_hook)
        yield training.step
    logger._drain_step()


@dataclass(frozen=True)
class Mode:
    """One column. `needs` is the Python module that it is in."""

    title: str
    around: Callable[[Training], AbstractContextManager[Step]]
    needs: str | None = None
    modules: bool = False  # it sees modules only
    settles: int = 1  # steps before those that are measured

    def missing(self, training: Training) -> str | None:
        """Why it cannot be measured here; None if it can."""
        if self.modules and training.middle is None:
            return "sees modules only"
        if self.needs is None:
            return None
        try:
            found = importlib.util.find_spec(self.needs)
        except ImportError:
            found = None
        return None if found is not None else f"not installed: no module `{self.needs}`"


YOUNG = (
    70  # steps after which the watch has learnt what changes; before, it looks at every batch and at young optimizers
)
MODES = {
    "plain": Mode("plain", plain),
    "nanscope": Mode("nanscope", nanscope, settles=YOUNG),
    "anomaly": Mode("`detect_anomaly`", anomaly),
    "dispatch": Mode("dispatch mode with `isfinite`", dispatch),
    "underflow": Mode("`DebugUnderflowOverflow`", underflow_overflow, "transformers", modules=True),
    "sherlorch": Mode("sherlorch", sherlorch, "sherlorch"),
    "torchlens": Mode("torchlens", torchlens, "torchlens", modules=True),
    "debug": Mode("torch `DebugMode`", debug_mode, "torch.utils._debug_mode"),
    "aorta": Mode("AORTA layer logger", aorta, "aorta.instrumentation.layer_numerics", modules=True),
}


def versions() -> dict[str, str]:
    """Installed versions of the peers that are packages of their own."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    pins = Path(__file__).resolve().parents[1] / "requirements-bench.txt"
    names = [line.split("==")[0] for line in pins.read_text().splitlines() if "==" in line]
    for name in ["transformers", *names]:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
