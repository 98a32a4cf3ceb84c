"""Writes the tape: who made a tensor, what is held, when a step ends. Knows nothing of what the values are."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from nanscope.capture.event import Event, Ref, Tape
from nanscope.capture.lines import caller
from nanscope.capture.state import Volatile

EVENTS_MAX = 50_000  # a tape longer than this cannot be a step one waits for; the rerun takes over
COPIES_MAX_BYTES = 256 << 20  # copies of outside tensors that the program changes in place
CUDA = torch.cuda.is_available()
CHAIN_MAX = 1024  # in-place changes of one tensor followed back under no_grad
FLOATING_MAX_BYTES = (
    256 << 20
)  # outside tensors that events without a graph may keep alive (an evaluation between steps)

Tensor = torch.Tensor
_C = torch._C
_grad_enabled = torch.is_grad_enabled
_any_autocast: Callable[[], bool] = getattr(_C, "_is_any_autocast_enabled", lambda: True)


class Made(NamedTuple):
    """Which event made a tensor, as which of its outputs. `chain` counts in-place changes under `no_grad`."""

    tensor: weakref.ref[Any]
    event: Event
    position: int
    chain: int


class Recorder:
    """The tape of the running step.

    `depth > 0` means: inside something opaque (a module, backward, a step), nothing is recorded. Only the thread that
    started the watch is recorded.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.thread = threading.get_ident()
        self.tape = Tape()
        self.made: dict[int, Made] = {}
        self.serial = 0
        self.mode: Any = None
        self.saved_hooks: Callable[[], Any] = lambda: None  # see saved.hooks
        self.muted = False
        self.closed = False
        self._volatile: dict[int, Volatile] = {}
        self.roots: list[torch.nn.Module] = []
        self._devices = ["cpu"]
        if CUDA:
            self._devices.append("cuda")
        self.empties: dict[int, tuple[Any, int, Any]] = {}  # storage id -> (weak reference, version, place)
        self.stepped = False  # an optimizer step was seen
        self.backward_done = False  # since the last step
        self.updated: list[Tensor] = []  # parameters that the program itself has changed since backward
        self.aliased: dict[int, Tensor] = {}  # storage -> parameter whose `.data` was taken
        self.on_update: Callable[[], bool] = lambda: (
            False
        )  # before the program itself changes a parameter; True: leave it out
        self.on_manual_step: Callable[[], None] = self.boundary
        self.changed: list[Tensor] = []  # buffers that module calls have changed since the last step
        self.steps_taken = 0
        self.kept = False  # the present tape belongs to a trip
        self.backwards = 0  # since the last step
        self.floating_bytes = 0
        self.closure_of: Any = None
        self.observer: Any = None  # a tracer, while a rerun's step is watched as it happens
        self._closure_popped = False

    # ---- on and off

    def live(self) -> bool:
        """True at the top level of the watched thread."""
        return self.depth == 0 and not self.closed and threading.get_ident() == self.thread

    def enter(self) -> bool:
        """Stops recording tensor functions. Returns whether the mode was taken off the stack (give it to `leave`)."""
        self.depth += 1
        if self.depth > 1:
            return False
        try:
            top = _C._pop_torch_function_stack()
        except (RuntimeError, AssertionError):  # inside our own handler: the stack may be empty
            return False
        if top is self.mode:
            return True
        # Another mode lies on top of ours: ours stays and lets everything through.
        _C._push_on_torch_function_stack(top)
        self.muted = True
        return False

    def leave(self, popped: bool) -> None:
        """Undoes `enter`."""
        self.depth -= 1
        if self.observer is not None and self.depth == 0:
            self.observer.finish()
        if popped:
            _C._push_on_torch_function_stack(self.mode)
        elif self.depth == 0:
            self.muted = False

    # ---- events

    def tell(self, event: Event, args: Any, kwargs: Any) -> None:
        """Tells a tracer that watches the step as it happens."""
        if self.observer is not None:
            self.observer.begin(event, args, kwargs)

    def event(self, kind: str, target: Any, *, random: bool = False, place: Any = None) -> Event:
        """A new event with the settings in force now. It is on no tape yet."""
        event = Event()
        event.serial = self.serial = self.serial + 1
        event.kind = kind
        event.target = target
        event.place = place or caller(3)  # past this, the patch and what the program called
        if not _grad_enabled():
            event.grad_mode = False
            event.inference = torch.is_inference_mode_enabled()
        if _any_autocast():
            for device in self._devices:
                if torch.is_autocast_enabled(device):
                    event.autocast += ((device, torch.get_autocast_dtype(device)),)
        hooks = self.saved_hooks()
        if hooks is not None:
            event.saved_hooks = hooks
        if random:
            event.random = random_state()
        return event

    def pin(self, event: Event) -> None:
        """Puts an event on the tape; one that is not pinned is replayed only if a pinned one needs its outputs."""
        tape = self.tape
        if len(tape.events) >= EVENTS_MAX:
            tape.overflow = True
            return
        tape.events.append(event)

    def encode(self, value: Any, tape: Tape | None) -> Any:
        """`value` with tensors that earlier events made as `Ref`s. Outside tensors are noted in `tape.held` when pinned."""
        if isinstance(value, Tensor):
            return self._encode_tensor(value, tape)
        kind = type(value)
        if kind is tuple or kind is list:
            # Tensors are looked up here, and what cannot hold one is passed by: a call each would be most of the cost.
            made, out = self.made, []
            for item in value:
                if isinstance(item, Tensor):
                    entry = made.get(id(item))
                    unknown = entry is None or entry[0]() is not item
                    item = self._encode_tensor(item, tape) if unknown else Ref(entry[1], entry[2])  # type: ignore[index]
                elif type(item) not in ATOMS:
                    item = self.encode(item, tape)
                out.append(item)
            return tuple(out) if kind is tuple else out
        if kind is dict:
            return {k: self.encode(v, tape) for k, v in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return kind(*[self.encode(v, tape) for v in value])
        return value

    def _encode_tensor(self, value: Tensor, tape: Tape | None) -> Any:
        key = id(value)
        made = self.made.get(key)
        if made is not None and made[0]() is value:
            return Ref(made[1], made[2])
        if tape is not None:
            if key not in tape.held:
                tape.held[key] = (value, value._version if not value.is_inference() else 0)
                tape.fresh.append(weakref.ref(value))
        elif key not in self.tape.read:
            self.tape.read[key] = weak = weakref.ref(value)
            self.tape.fresh.append(weak)
            self._count(value)
        return value

    def _count(self, value: Tensor) -> None:
        """Counts what events without a graph keep alive; beyond the limit they are forgotten."""
        self.floating_bytes += value.numel() * value.element_size()
        if self.floating_bytes > FLOATING_MAX_BYTES:
            self.floating_bytes = 0
            for key in [k for k, m in self.made.items() if (t := m.tensor()) is None or not t.requires_grad]:
                del self.made[key]

    def outputs(self, event: Event, result: Any, floating: bool = False, chain: int = 0) -> None:
        """Remembers that `event` made the tensors in `result`; of a floating event only while they live."""
        if isinstance(result, Tensor):
            event.outputs = 1
            if not floating:
                event.scalar = not result.dim()
                self.made[id(result)] = Made(weakref.ref(result), event, 0, chain)
                return
            flat = [result]
        else:
            flat = []
            flatten(result, flat)
        event.outputs = len(flat)
        for position, tensor in enumerate(flat):
            key = id(tensor)
            weak = weakref.ref(tensor, self._forget(key)) if floating else weakref.ref(tensor)
            self.made[key] = Made(weak, event, position, chain)

    def _forget(self, key: int) -> Callable[[Any], None]:
        made = self.made

        def dead(weak: Any) -> None:
            entry = made.get(key)
            if entry is not None and entry[0] is weak:
                del made[key]

        return dead

    def producer(self, tensor: Any) -> Made | None:
        """The event that made `tensor` since the last step, or before it if `tensor` carries a graph."""
        made = self.made.get(id(tensor))
        return made if made is not None and made[0]() is tensor else None

    def volatile(self, module: torch.nn.Module) -> Volatile:
        """What calls of an outermost module were seen to change."""
        known = self._volatile.get(id(module))
        if known is None or known.root() is not module:
            known = self._volatile[id(module)] = Volatile(module)
        return known

    # ---- changes of outside tensors

    def before_change(self, target: Tensor) -> str:
        """What an in-place change of `target` means: `made` (an event's output), `read` (an outside tensor that the tape has
        read; its first value is kept) or `unread` (nothing on the tape depends on its old value)."""
        base = self._outside_base(target)
        if base is None and self.producer(target) is None and self._in_module(target):
            base = target
        if base is not None:
            self.keep_original(base)
        if self.producer(target) is not None:
            return "made"
        return "unread" if base is None else "read"

    def _outside_base(self, target: Tensor) -> Tensor | None:
        """The outside tensor that the tape has read and that shares memory with `target`."""
        tape = self.tape
        for weak in tape.fresh:
            tensor = weak()
            if tensor is not None:
                tape.storages.setdefault(storage_id(tensor), weak)
        tape.fresh.clear()
        weak = tape.storages.get(storage_id(target)) if tape.storages else None
        return None if weak is None else weak()

    def _in_module(self, target: Tensor) -> bool:
        if isinstance(target, torch.nn.Parameter) or target.grad_fn is None:
            wanted = storage_id(target)
            for root in self.roots:
                if wanted in self.volatile(root).storages():
                    return True
        return False

    def keep_original(self, target: Tensor) -> None:
        tape = self.tape
        if id(target) in tape.originals:
            return
        held = sum(copy.numel() * copy.element_size() for _, copy in tape.originals.values())
        if held + target.numel() * target.element_size() > COPIES_MAX_BYTES:
            tape.unsafe.append("a large tensor from outside the step was changed in place")
            return
        with torch.no_grad():
            tape.originals[id(target)] = (target, target.detach().clone())

    # ---- steps

    def boundary(self) -> None:
        """A step has ended: the tape starts anew. Tensors with a graph keep their events alive (GAN, PPO); leaves are state."""
        if self.kept:  # a trip may still want the old one
            self.tape = Tape()
            self.kept = False
        else:
            self.tape.clear()
        self.roots.clear()
        if self.backward_done:
            self.updated.clear()
            self.aliased.clear()
        if self.changed:
            self.changed.clear()
        self.backward_done = False
        self.backwards = 0
        self.floating_bytes = 0
        if self.made:
            stale = []
            for key, made in self.made.items():
                tensor = made[0]()
                if tensor is None or not tensor.requires_grad or tensor.is_leaf:
                    stale.append(key)
            for key in stale:
                del self.made[key]

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
    """Identity of the memory behind a tensor."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse, functional wrappers: no storage of their own
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


def random_state() -> tuple[Any, ...]:
    """State of the generators on all devices: `(cpu, [cuda...] or None)`."""
    cuda = torch.cuda.get_rng_state_all() if CUDA and torch.cuda.is_initialized() else None
    return torch.default_generator.get_state(), cuda


def set_random_state(state: tuple[Any, ...]) -> None:
    """Puts back what `random_state` returned."""
    torch.default_generator.set_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])
