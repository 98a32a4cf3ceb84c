"""What a module call may change besides its result: buffers, attributes, generators of Python and NumPy.

The first calls are compared before and after; from then on only what was seen to change is copied.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from nanscope import _core

LEARN_CALLS = 3
COPY_ALL_MAX_BYTES = 16 << 20
_PLAIN = (list, dict, set)
CUDA = torch.cuda.is_available()


class Before:
    """State before one call: `buffers` as `(tensor, copy)`, `attributes` as `(module, dict)`, `generators` by name."""

    __slots__ = ("attributes", "buffers", "containers", "generators", "versions")

    def __init__(self) -> None:
        self.buffers: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.versions: list[tuple[torch.Tensor, int]] = []
        self.attributes: list[tuple[torch.nn.Module, dict[str, Any]]] = []
        self.containers: list[tuple[Any, Any]] = []
        self.generators: dict[str, Any] = {}


class Volatile(_core.Habits):
    """What calls of one outermost module were seen to change."""

    def __init__(self, root: torch.nn.Module) -> None:
        self.calls = 0
        self.buffers: dict[int, torch.Tensor] = {}
        self.modules: dict[int, torch.nn.Module] = {}
        self.silent: set[int] = set()  # buffers that change without a new version
        self.generators: set[str] = set()
        self._storages: set[int] | None = None

    def drawn(self, training: bool, before: tuple[Any, ...]) -> None:
        """A call is over: compares the states of torch's generators with those before it."""
        if not self.has_drawn(training):
            after = random_state()
            befores, afters = [before[0], *(before[1] or ())], [after[0], *(after[1] or ())]
            # Where they lie: an operator would be one more for a mode of the program's, such as that of fake tensors.
            self.looked(
                training, [_core.digest(state) for state in befores] != [_core.digest(state) for state in afters]
            )

    def storages(self) -> set[int]:
        """Storages of the root's parameters and buffers; taken once."""
        if self._storages is None:
            from nanscope.capture.recorder import storage_id

            root = self.root()
            tensors = [] if root is None else [*root.parameters(), *root.buffers()]
            self._storages = {storage_id(t) for t in tensors}
        return self._storages

    def before(self, root: torch.nn.Module) -> Before | None:
        """Copies what a call may change; `None` when nothing was ever seen to change."""
        learning = self.calls < LEARN_CALLS
        if not learning and not self.buffers and not self.modules and not self.generators:
            return None
        state = Before()
        if learning:
            buffers = list(root.buffers())
            size = sum(b.numel() * b.element_size() for b in buffers)
            for b in buffers:
                state.versions.append((b, version_of(b)))
            if size > COPY_ALL_MAX_BYTES:
                norms = [
                    m for m in root.modules() if m.training and isinstance(m, torch.nn.modules.batchnorm._NormBase)
                ]
                buffers = [b for m in norms for b in m.buffers(recurse=False)]
            modules: Any = list(root.modules())
            state.generators = generators({"random", "numpy"})
        else:
            buffers = list(self.buffers.values())
            state.versions = [(b, version_of(b)) for b in buffers]
            modules = self.modules.values()
            if self.generators:
                state.generators = generators(self.generators)
        for b in buffers:
            if has_values(b):
                state.buffers.append((b, b.detach().clone()))
        for m in modules:
            attributes = dict(m.__dict__)
            state.attributes.append((m, attributes))
            for value in attributes.values():
                if type(value) in _PLAIN:  # an empty list may be filled
                    state.containers.append((value, value.copy()))
                elif isinstance(value, torch.Tensor) and has_values(value) and value.numel() < 1 << 20:
                    state.versions.append((value, version_of(value)))
                    state.buffers.append((value, value.detach().clone()))
        return state

    def after(self, state: Before) -> list[torch.Tensor]:
        """Learns from one call; returns the floating tensors that it changed."""
        changed: list[torch.Tensor] = []
        for tensor, version in state.versions:
            if version_of(tensor) != version:
                self.buffers[id(tensor)] = tensor
                if tensor.is_floating_point():
                    changed.append(tensor)
        if self.calls < LEARN_CALLS:
            # Some kernels (batch normalisation's) change their buffers without counting a version.
            for tensor, copy in state.buffers:
                if id(tensor) not in self.buffers and not same_values(tensor, copy):
                    self.buffers[id(tensor)] = tensor
                    self.silent.add(id(tensor))
        changed += [t for key, t in self.buffers.items() if key in self.silent and t.is_floating_point()]
        if self.calls < LEARN_CALLS:
            self.calls += 1
            for module, attributes in state.attributes:
                if changed_attributes(module.__dict__, attributes):
                    self.modules[id(module)] = module
            for container, copy in state.containers:
                if len(container) != len(copy):
                    for module, attributes in state.attributes:
                        if any(v is container for v in attributes.values()):
                            self.modules[id(module)] = module
            for name, value in generators(set(state.generators)).items():
                if not same(value, state.generators[name]):
                    self.generators.add(name)
            self.steady = self.calls == LEARN_CALLS and not (self.buffers or self.modules or self.generators)
        return changed


def has_values(tensor: torch.Tensor) -> bool:
    """False for a tensor of which only shape and type are known."""
    return not tensor.is_meta and not isinstance(tensor, FakeTensor)


def version_of(tensor: torch.Tensor) -> int:
    """How often a tensor was changed in place; 0 for one made in inference mode, whose changes nobody counts."""
    return 0 if tensor.is_inference() else tensor._version


def changed_attributes(now: dict[str, Any], then: dict[str, Any]) -> bool:
    """True when an attribute was added, removed or bound to another object."""
    return len(now) != len(then) or any(then.get(key, now) is not value for key, value in now.items())


def same_values(tensor: torch.Tensor, copy: torch.Tensor) -> bool:
    """Equality to the bit, as far as `==` tells; a NaN equals a NaN."""
    return (
        bool(((tensor == copy) | ((tensor != tensor) & (copy != copy))).all()) if tensor.shape == copy.shape else False
    )


def generators(names: set[str]) -> dict[str, Any]:
    """States of Python's and NumPy's global generators, as far as they are loaded."""
    found: dict[str, Any] = {}
    if "random" in names:
        found["random"] = random.getstate()
    if "numpy" in names and "numpy" in sys.modules:
        found["numpy"] = sys.modules["numpy"].random.get_state()
    return found


def set_generators(states: dict[str, Any]) -> None:
    """Puts back what `generators` returned."""
    if "random" in states:
        random.setstate(states["random"])
    if "numpy" in states:
        sys.modules["numpy"].random.set_state(states["numpy"])


def same(a: Any, b: Any) -> bool:
    """Equality of two generator states; NumPy's holds an array."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return a.tobytes() == b.tobytes() if hasattr(a, "tobytes") else bool(a == b)


def restore(state: Before) -> None:
    """Puts modules back to what they were before the call. Identities of buffers are kept."""
    with torch.no_grad():
        for module, attributes in state.attributes:
            if changed_attributes(module.__dict__, attributes):
                module.__dict__.clear()
                module.__dict__.update(attributes)
        for container, copy in state.containers:
            if isinstance(container, list):
                container[:] = copy
            else:
                container.clear()
                container.update(copy)
        for tensor, copy in state.buffers:
            tensor.data.copy_(copy)
    set_generators(state.generators)


def cuda_states() -> list[torch.Tensor] | None:
    """States of the generators of all CUDA devices; `None` when CUDA is not in use."""
    return torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None


def random_state() -> tuple[Any, ...]:
    """State of the generators on all devices: `(cpu, [cuda...] or None)`."""
    return torch.default_generator.get_state(), cuda_states() if CUDA else None


def set_random_state(state: tuple[Any, ...]) -> None:
    """Puts back what `random_state` returned."""
    torch.default_generator.set_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])
