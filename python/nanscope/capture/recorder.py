"""Writes the tape: who made a tensor, what is held, when a step ends. Knows nothing of what the values are."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, Self, cast

import torch

from nanscope import _core
from nanscope.capture import saved
from nanscope.capture.event import Event, Tape
from nanscope.capture.state import CUDA, Volatile, cuda_states

COPIES_MAX_BYTES = 256 << 20  # copies of outside tensors that the program changes in place
CHAIN_MAX = 1024  # in-place changes of one tensor followed back under no_grad

Tensor = torch.Tensor
_C = torch._C
_any_autocast: Callable[[], bool] = getattr(_C, "_is_any_autocast_enabled", lambda: True)
_DEVICES = ("cpu", "cuda") if CUDA else ("cpu",)


def _autocasts() -> tuple[tuple[str, torch.dtype], ...]:
    return tuple((d, torch.get_autocast_dtype(d)) for d in _DEVICES if torch.is_autocast_enabled(d))


class Recorder(_core.Recording):
    """The tape of the running step.

    `depth > 0` means: inside something opaque (a module, backward, a step), nothing is recorded. Only the thread that
    started the watch is recorded.
    """

    def __new__(cls) -> Self:
        asks = {
            "tensor": Tensor,
            "parameter": torch.nn.Parameter,
            "atoms": ATOMS,
            "flatten": flatten,
            "pop": _C._pop_torch_function_stack,
            "push": _C._push_on_torch_function_stack,
            "grad_enabled": torch.is_grad_enabled,
            "inference": torch.is_inference_mode_enabled,
            "any_autocast": _any_autocast,
            "autocasts": _autocasts,
            "saved_hooks": saved.current,
            "cpu_state": torch.default_generator.get_state,
            "other_states": cuda_states if CUDA else None,
        }
        return cast(Self, super().__new__(cls, asks))

    def __init__(self) -> None:
        self.empties: dict[int, tuple[Any, int, Any]] = {}  # storage id -> (weak reference, version, place)
        self.on_update: Callable[[], bool] = lambda: (
            False
        )  # before the program itself changes a parameter; True: leave it out
        self.on_manual_step: Callable[[], None] = self.boundary
        self.optimizers_seen: bool | None = None  # whether the program has an optimizer; None: nobody has looked
        self.earlier: tuple[Tape, list[torch.nn.Module]] | None = (
            None  # a step that may still be run again, and its modules
        )
        self.closure_of: Any = None
        self._closure_popped = False

    # ---- events

    def tell(self, event: Event, args: Any, kwargs: Any) -> None:
        """Tells a tracer that watches the step as it happens."""
        if self.observer is not None:
            self.observer.begin(event, args, kwargs)

    def volatile(self, module: torch.nn.Module) -> Volatile:
        """What calls of an outermost module were seen to change."""
        known = self.known(module)
        if known is None:
            known = Volatile(module)
            self.know(module, known)
        return cast(Volatile, known)

    # ---- changes of outside tensors

    def before_change(self, target: Tensor) -> str:
        """What an in-place change of `target` means: `made` (an event's output), `read` (an outside tensor that the tape has
        read; its first value is kept) or `unread` (nothing on the tape depends on its old value)."""
        if self.earlier is not None:
            tape, roots = self.earlier
            before = self._outside_base(target, tape)
            if before is None and self._in_module(target, roots):
                before = target
            if before is not None:
                self.keep_original(before, tape)
        base = self._outside_base(target, self.tape)
        if base is None and self.producer(target) is None and self._in_module(target, self.roots):
            base = target
        if base is not None:
            self.keep_original(base)
        if self.producer(target) is not None:
            return "made"
        return "unread" if base is None else "read"

    def _outside_base(self, target: Tensor, tape: Tape) -> Tensor | None:
        """The outside tensor that the tape has read and that shares memory with `target`."""
        for weak in tape.fresh:
            tensor = weak()
            if tensor is not None:
                tape.storages.setdefault(storage_id(tensor), weak)
        tape.fresh.clear()
        weak = tape.storages.get(storage_id(target)) if tape.storages else None
        return None if weak is None else weak()

    def _in_module(self, target: Tensor, roots: list[torch.nn.Module]) -> bool:
        if isinstance(target, torch.nn.Parameter) or target.grad_fn is None:
            wanted = storage_id(target)
            for root in roots:
                if wanted in self.volatile(root).storages():
                    return True
        return False

    def keep_original(self, target: Tensor, tape: Tape | None = None) -> None:
        """Keeps what `target` holds, for a replay of `tape`, before it is changed for the first time."""
        tape = self.tape if tape is None else tape
        if id(target) in tape.originals:
            return
        held = sum(copy.numel() * copy.element_size() for _, copy in tape.originals.values())
        if held + target.numel() * target.element_size() > COPIES_MAX_BYTES:
            tape.unsafe.append("a large tensor from outside the step was changed in place")
            return
        with torch.no_grad():
            tape.originals[id(target)] = (target, target.detach().clone())

    # ---- steps

    def cut(self) -> Tape:
        """A new attempt at the same step begins: returns what came up to the last backward, keeps what came after it."""
        old = self.tape
        last = max((i for i, e in enumerate(old.events) if e.kind == "backward"), default=-1)
        new = Tape()
        new.events = old.events[last + 1 :]
        new.held, new.read, new.originals = dict(old.held), dict(old.read), dict(old.originals)
        new.fresh, new.storages = list(old.fresh), dict(old.storages)
        old.events = old.events[: last + 1]
        self.tape = new
        self.backwards = 0
        self.backward_done = False
        return old

    # ---- optimizers that evaluate a closure (LBFGS): recording is on inside the closure only

    def enter_closure(self, optimizer: Any) -> None:
        self.closure_of = optimizer
        self._closure_popped = self.enter()

    def resume_closure(self) -> None:
        self.leave(self._closure_popped)

    def pause_closure(self) -> None:
        self._closure_popped = self.enter()

    def leave_closure(self) -> None:
        self.closure_of = None
        self.leave(self._closure_popped)

    def renewed(self, args: Any, kwargs: Any) -> bool:
        """True when a forward begins from parameters that the program has made anew since backward: a step of functional code,
        `params = {k: (p - lr * g).detach().requires_grad_() ...}`. With an optimizer about, new leaves are something else (the
        inner loop of MAML, an adversarial input)."""
        if self.optimizers_seen is None:
            self.optimizers_seen = any(issubclass(type(o), torch.optim.Optimizer) for o in gc.get_objects())
        if self.optimizers_seen:
            return False
        fresh = self.leaves_since(self.backward_serial)
        found: list[Tensor] = []
        flatten((args, kwargs), found)
        if not any(t is f for t in found for f in fresh):
            return False
        self.updated.extend(fresh)
        return True

    def is_update(self, targets: list[Tensor]) -> bool:
        """True when the program is about to change parameters after backward: a step without an optimizer."""
        found = False
        for target in targets:
            base = target
            if not (target.is_leaf and target.requires_grad):
                base = self.aliased.get(storage_id(target), target)
            if base.is_leaf and base.requires_grad:
                found = True
                if not any(base is u for u in self.updated):
                    self.updated.append(base)
        return found


ATOMS = {int, float, bool, str, bytes, type(None), complex, torch.dtype, torch.device, torch.Size, slice, type(...)}


def storage_id(tensor: Tensor) -> int:
    """Identity of the memory behind a tensor; of a wrapper (DTensor), that of this rank's part."""
    if type(tensor) is not Tensor and type(tensor) is not torch.nn.Parameter:
        tensor = getattr(tensor, "_local_tensor", tensor)
    try:
        return tensor.untyped_storage()._cdata
    except RuntimeError:  # sparse tensors, functional wrappers: no storage of their own
        return -id(tensor)


def flatten(value: Any, into: list[Tensor]) -> None:
    """Tensors in nested tuples, lists, dicts, dataclasses and the like, in a fixed order."""
    if isinstance(value, Tensor):
        into.append(value)
    elif isinstance(value, (tuple, list)):
        for item in value:
            flatten(item, into)
    elif isinstance(value, dict):
        for item in value.values():
            flatten(item, into)
    elif type(value) not in ATOMS and not isinstance(value, (type, torch.nn.Module)) and hasattr(value, "__dict__"):
        # Results of models (dataclasses, distributions): their own attributes, one level deep.
        for item in vars(value).values():
            if isinstance(item, Tensor):
                into.append(item)
            elif type(item) in (tuple, list, dict):
                flatten(item, into)
