"""Tensor functions called outside any module, seen through a `TorchFunctionMode`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from nanscope import _core
from nanscope._core import caller
from nanscope.capture.event import Event
from nanscope.capture.failure import OnFailure, Ours
from nanscope.capture.recorder import CHAIN_MAX, Recorder, flatten, storage_id
from nanscope.capture.state import has_values, random_state, version_of

Tensor = torch.Tensor
_C = torch._C
EMPTIES_MAX = 100_000  # allocations remembered while the model is built

# What a function is to the tape; found once per function, by name.
SKIP, PURE, RANDOM, CHANGE, SETTER, GRAD, HOOK, ITER, EMPTY, OUTSIDE = range(10)

_GETTERS = {"grad", "data", "T", "mT", "H", "mH", "real", "imag"}
_RANDOM = (
    "dropout",
    "bernoulli",
    "rand",
    "multinomial",
    "normal",
    "poisson",
    "rrelu",
    "gumbel",
    "scaled_dot_product",
    "binomial",
)
_RANDOM_CHANGES = {
    "uniform_",
    "normal_",
    "exponential_",
    "geometric_",
    "cauchy_",
    "log_normal_",
    "random_",
    "bernoulli_",
    "dropout_",
}
# Tensors from Python or NumPy data come from outside the step: the data may have changed by the time of a replay.
_OUTSIDE = {
    "tensor", "as_tensor", "from_numpy", "new_tensor", "asarray", "frombuffer", "from_dlpack", "get_rng_state",
    "initial_seed", "_make_subclass", "_make_wrapper_subclass", "load",
}  # fmt: skip
_EMPTY = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"}
_SKIP = {
    "item", "tolist", "size", "dim", "numel", "stride", "is_floating_point", "is_complex", "data_ptr", "__len__", "__bool__",
    "__float__", "__int__", "__index__", "__repr__", "__format__", "__hash__", "__contains__", "__reduce_ex__", "numpy",
    "untyped_storage", "storage", "element_size", "get_device", "_set_grad_enabled", "__deepcopy__", "is_contiguous",
    "equal", "allclose", "is_nonzero", "type", "storage_offset", "__dir__", "__array__", "__cuda_array_interface__", "cpu_",
    "share_memory_", "is_shared", "_amp_update_scale_", "pin_memory", "is_same_size", "is_signed", "is_inference",
    "nelement", "ndimension",
}  # fmt: skip


@dataclass(frozen=True)
class _Change:
    """A change in place that is about to be made. `chain` counts those under `no_grad`."""

    event: Event
    floating: bool
    chain: int
    args: Any
    kwargs: Any


LEFT_OUT = _Change(Event(), False, 0, (), {})


def classify(func: Any) -> int:
    """What `func`, as a mode receives it, is to the tape."""
    name = getattr(func, "__name__", "")
    if "_record_function" in name or "_record_function" in str(func):
        return SKIP
    if name == "__get__":
        attribute = getattr(getattr(func, "__self__", None), "__name__", "")
        return GRAD if attribute == "grad" else PURE if attribute in _GETTERS else SKIP
    if name == "__set__":
        attribute = getattr(getattr(func, "__self__", None), "__name__", "")
        return SETTER if attribute in ("grad", "data", "requires_grad") else SKIP
    if name == "__iter__":
        return ITER
    if name in ("register_hook", "retain_grad"):
        return HOOK
    if name in _EMPTY:
        return EMPTY
    if name in _OUTSIDE:
        return OUTSIDE
    if name in _SKIP:
        return SKIP
    if name in _RANDOM_CHANGES:
        return CHANGE
    inplace = name.startswith("__i") and name.endswith("__") and name not in ("__invert__", "__index__", "__int__")
    if name == "__setitem__" or inplace:
        return CHANGE
    if name.endswith("_") and not name.endswith("__"):
        return CHANGE
    if any(part in name for part in _RANDOM):
        return RANDOM
    return PURE


class Functions(TorchFunctionMode):
    """Records what is called at top level. Everything is passed through unchanged."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.kinds: dict[Any, int] = {}
        self.fast = _core.Functions(recorder, self.kinds, SKIP, PURE, self.__torch_function__, self._record)
        self.__dict__["__torch_function__"] = MethodType(self.fast, self)  # torch looks here first

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if kwargs is None:
            kwargs = {}
        kind = self.kinds.get(func)
        if kind is None:
            kind = self.kinds[func] = classify(func)
        recorder = self.recorder
        if kind == SKIP or recorder.muted or recorder.depth:
            return func(*args, **kwargs)
        if kwargs and kwargs.get("generator") is not None:
            return self._generated(func, args, kwargs, kind)
        if recorder.observer is not None and kind in (PURE, RANDOM, CHANGE, SETTER, GRAD):
            return self._told(func, args, kwargs, kind)
        if kind == PURE and "out" not in kwargs:
            return self._pure(func, args, kwargs, False)
        if kind == OUTSIDE:
            return func(*args, **kwargs)
        if kind == RANDOM:
            return self._pure(func, args, kwargs, True)
        if kind == EMPTY:
            return self._empty(func, args, kwargs)
        if kind == GRAD:
            return self._grad(func, args, kwargs)
        if kind == HOOK:
            return self._hook(func, args, kwargs)
        if kind == ITER:
            return iter(self.__torch_function__(Tensor.unbind, types, (args[0], 0), {}))
        return self._change(func, args, kwargs, kind)

    def _generated(self, func: Any, args: Any, kwargs: Any, kind: int) -> Any:
        """Numbers from the program's own generator come from outside: its state has moved on by the time of a replay."""
        if kind == CHANGE and args and isinstance(args[0], Tensor):
            self.recorder.before_change(args[0])
            self.recorder.forget(args[0])
        return func(*args, **kwargs)

    def _told(self, func: Any, args: Any, kwargs: Any, kind: int) -> Any:
        """In a traced step the tracer is told before the call; the event it is told of is the one that will be recorded."""
        recorder = self.recorder
        coming = Event()
        coming.serial, coming.kind, coming.target, coming.place = recorder.serial + 1, "function", func, caller()
        coming.args, coming.kwargs = recorder.encode(args, None), recorder.encode(kwargs, None)
        recorder.tell(coming, args, kwargs)
        try:
            if kind == GRAD:
                return self._grad(func, args, kwargs)
            if kind in (CHANGE, SETTER) or "out" in kwargs:
                return self._change(func, args, kwargs, kind)
            return self._pure(func, args, kwargs, kind == RANDOM)
        finally:
            if recorder.observer is not None:
                recorder.observer.finish()

    def _failed(self, func: Any, args: Any, kwargs: Any, state: Any) -> None:
        event = self.recorder.event("function", func)
        event.random = state
        self.recorder.failed(event, args, kwargs)

    def _pure(self, func: Any, args: Any, kwargs: Any, random: bool) -> Any:
        state = random_state() if random else None
        with OnFailure(lambda: self._failed(func, args, kwargs, state)):
            result = func(*args, **kwargs)
        with Ours(self.recorder):
            if isinstance(result, Tensor):
                pinned = result.requires_grad
            else:
                found: list[Tensor] = []
                flatten(result, found)
                if not found:
                    return result
                pinned = any(t.requires_grad for t in found)
            self._record(func, args, kwargs, result, pinned, state)
        return result

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any, pinned: bool, state: Any = None) -> None:
        recorder = self.recorder
        if recorder.backward_done and isinstance(result, Tensor) and not pinned:
            self._alias(args, result)
        if pinned and (recorder.updated or (recorder.backward_done and recorder.renewed(args, kwargs))):
            recorder.on_manual_step()
        recorder.note("function", func, args, kwargs, result, pinned, state)

    def _alias(self, args: Any, result: Tensor) -> None:
        """After backward, `p.data` and `p.detach()` are ways to update `p`."""
        first = args[0] if args else None
        if isinstance(first, Tensor) and first.is_leaf and first.requires_grad:
            key = storage_id(result)
            if key == storage_id(first):
                self.recorder.aliased[key] = first

    def _grad(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if result is not None:
            recorder = self.recorder
            with Ours(recorder):
                event = recorder.event("function", func)
                event.args = recorder.encode(args, recorder.tape)
                recorder.outputs(event, result, floating=True)
        return result

    def _hook(self, func: Any, args: Any, kwargs: Any) -> Any:
        recorder = self.recorder
        if recorder.producer(args[0]) is not None:
            event = recorder.event("function", func)
            recorder.write(event, args, kwargs, True)
        return func(*args, **kwargs)

    def _empty(self, func: Any, args: Any, kwargs: Any) -> Any:
        recorder = self.recorder
        result = self._pure(func, args, kwargs, False)
        if recorder.steps_taken == 0 and len(recorder.empties) < EMPTIES_MAX:
            with Ours(recorder):
                if result.layout is torch.strided and has_values(result):
                    # A weak reference keeps the address from being given to other memory, not the memory itself.
                    weak = StorageWeakRef(result.untyped_storage())
                    recorder.empties[storage_id(result)] = (weak, version_of(result), caller())
        return result

    def _change(self, func: Any, args: Any, kwargs: Any, kind: int) -> Any:
        target = kwargs.get("out", args[0] if args else None)
        targets: list[Tensor] = []
        flatten(target, targets)  # `_foreach_mul_` and the like change a list
        if not targets:
            return func(*args, **kwargs)
        attribute = getattr(getattr(func, "__self__", None), "__name__", "") if kind == SETTER else ""
        change: _Change | None = None
        with Ours(self.recorder):
            change = self._before_change(func, args, kwargs, targets, attribute)
        if change is LEFT_OUT:
            return None if getattr(func, "__name__", "") == "__set__" else target
        result = func(*args, **kwargs)
        if change is not None:
            with Ours(self.recorder):
                self._after_change(change, args, kind, target, targets, attribute)
        return result

    def _before_change(
        self, func: Any, args: Any, kwargs: Any, targets: list[Tensor], attribute: str
    ) -> _Change | None:
        """What to write once the change is made; `None` where it is nothing to the tape."""
        recorder = self.recorder
        if attribute in ("grad", "requires_grad"):
            what = "read"
        else:
            what = "unread"
            for t in targets:
                state = recorder.before_change(t)
                what = state if state != "unread" else what
        if recorder.backward_done and attribute not in ("grad", "requires_grad") and recorder.is_update(targets):
            if recorder.on_update():  # a bad update is left out
                return LEFT_OUT
        if what == "unread" and not any(self._flows(a) for a in (*args[1:], *kwargs.values())):
            return None  # nothing of this step is in it: the changed tensor is the outside tensor
        event = recorder.event("function", func, random=getattr(func, "__name__", "") in _RANDOM_CHANGES)
        parameters = any(t.is_leaf and t.requires_grad for t in targets)
        floating, chain = False, 0
        if not torch.is_grad_enabled() and len(targets) == 1 and not parameters and what != "read":
            made = recorder.producer(targets[0])
            if not targets[0]._is_view() and not (made is not None and _is_grad_getter(made.event)):
                floating, chain = True, 1 if made is None else made.chain + 1
        if what == "unread":
            for t in targets:
                recorder.keep_original(t)
        tape = None if floating else recorder.tape
        return _Change(event, floating, chain, recorder.encode(args, tape), recorder.encode(kwargs, tape))

    def _after_change(
        self, change: _Change, args: Any, kind: int, target: Any, targets: list[Tensor], attribute: str
    ) -> None:
        recorder, event = self.recorder, change.event
        if change.floating and change.chain > CHAIN_MAX:
            for t in targets:
                recorder.forget(t)
            return
        event.args, event.kwargs = change.args, change.kwargs
        if not change.floating:
            recorder.pin(event)
        if kind == SETTER:
            if len(args) > 1 and isinstance(args[1], Tensor) and attribute == "grad":
                recorder.forget(args[1])
            return
        recorder.outputs(event, target, floating=change.floating, chain=change.chain)

    def _flows(self, value: Any) -> bool:
        """True when `value` holds a tensor that an event of this step made, or one with a graph."""
        found: list[Tensor] = []
        flatten(value, found)
        return any(t.requires_grad or self.recorder.producer(t) is not None for t in found)


def _is_grad_getter(event: Any) -> bool:
    return getattr(event.target, "__name__", "") == "__get__"


def _install_shortcut(mode: Functions) -> Callable[[], None]:
    """`_core.Shortcut` wherever torch has bound `handle_torch_function`."""
    homes: list[Any] = [m for m in (torch.nn.functional, torch.functional) if hasattr(m, "handle_torch_function")]
    originals: list[Any] = [m.handle_torch_function for m in homes]
    for module, was in zip(homes, originals, strict=True):
        shortcut = _core.Shortcut(mode.fast, _C._len_torch_function_stack, was)
        module.handle_torch_function = functools.update_wrapper(shortcut, was)

    def uninstall() -> None:
        for module, was in zip(homes, originals, strict=True):
            module.handle_torch_function = was

    return uninstall


def install(recorder: Recorder) -> Callable[[], None]:
    """Pushes the mode; the returned function takes it off wherever it lies on the stack."""
    mode = recorder.mode = Functions(recorder)
    _C._push_on_torch_function_stack(mode)
    shortcut = _install_shortcut(mode)

    def uninstall() -> None:
        shortcut()
        mode.__dict__.pop("__torch_function__")  # which holds the mode
        above = []
        while _C._len_torch_function_stack():
            top = _C._pop_torch_function_stack()
            if top is mode:
                break
            above.append(top)
        for other in reversed(above):
            _C._push_on_torch_function_stack(other)

    return uninstall
