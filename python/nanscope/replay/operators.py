"""What an operator's schema says: names of arguments, what it writes, whether it only aliases."""

from __future__ import annotations

from typing import Any

import torch

from nanscope.replay.values import number

Tensor = torch.Tensor
DOUBLE = (torch.float64, torch.complex128)
_ALLOCATES = {
    "empty",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "empty_like",
    "empty_permuted",
    "set_",
    "resize_",
}
_FILLS = {"fill_", "zero_", "fill", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "copy_",
          "normal_", "uniform_", "bernoulli_", "exponential_", "rand_like", "randn_like"}  # fmt: skip

# What torch raises for an operator that has no kernel for the arguments at hand.
REFUSED = (RuntimeError, TypeError, ValueError, IndexError)


class Operator:
    """One overload, as `aten.addmm.default`."""

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.func = func
        self.name = str(func)
        self.base = func._overloadpacket.__name__ if hasattr(func, "_overloadpacket") else self.name
        self.arguments = [(a.name, bool(a.alias_info and a.alias_info.is_write)) for a in schema.arguments]
        self.writes = any(write for _, write in self.arguments)
        aliases = any(a.alias_info is not None and not a.alias_info.is_write for a in schema.arguments)
        self.is_view = aliases and not self.writes
        self.allocates = self.base in _ALLOCATES
        # The schema of batch normalisation does not say that it writes its running statistics.
        self.silent = (
            {"running_mean", "running_var"} if "batch_norm" in self.base and "backward" not in self.base else set()
        )
        self.overwrites = self.base in _FILLS
        # A factory: what it makes has the default type unless it is told otherwise.
        self.default_dtype = any(a.name == "dtype" for a in schema.arguments) and not any(
            "Tensor" in str(a.type) for a in schema.arguments
        )

    def _pairs(self, args: Any, kwargs: Any) -> list[tuple[str, bool, Any]]:
        known = dict(self.arguments)
        out = [(name, write, value) for (name, write), value in zip(self.arguments, args, strict=False)]
        return out + [(name, known.get(name, False), value) for name, value in kwargs.items()]

    def tensors(self, args: Any, kwargs: Any) -> list[tuple[str, Tensor]]:
        """Tensors that are read. The target of `copy_`, `fill_` and of `out=` is written only."""
        found: list[tuple[str, Tensor]] = []
        for name, write, value in self._pairs(args, kwargs):
            if write and (self.overwrites or name == "out"):
                continue
            _named(name, value, found)
        return found

    def results(self, args: Any, kwargs: Any, result: Any) -> list[tuple[str, Tensor]]:
        """Tensors that were written: targets in place, otherwise the results."""
        found: list[tuple[str, Tensor]] = []
        if self.writes:
            for name, write, value in self._pairs(args, kwargs):
                if write:
                    _named(name, value, found)
        for name, _, value in self._pairs(args, kwargs) if self.silent else ():
            if name in self.silent:
                _named(name, value, found)
        seen = {id(t) for _, t in found}
        rest: list[tuple[str, Tensor]] = []
        _named("out", result, rest)
        found += [(name, t) for name, t in rest if id(t) not in seen]
        return [(name, t) for name, t in found if t.is_floating_point() or t.is_complex()]

    def targets(self, args: Any, kwargs: Any) -> list[tuple[str, Tensor]]:
        """Floating tensors among the arguments that are written."""
        found: list[tuple[str, Tensor]] = []
        for name, write, value in self._pairs(args, kwargs) if self.writes or self.silent else ():
            if write or name in self.silent:
                _named(name, value, found)
        return [(name, t) for name, t in found if t.is_floating_point() or t.is_complex()]

    def narrow(self, args: Any, kwargs: Any) -> bool:
        """True when an argument asks for a type narrower than float64, or the default type is used."""
        types = [v for v in (*args, *kwargs.values()) if type(v) is torch.dtype]
        return self.default_dtype or any(t not in DOUBLE and (t.is_floating_point or t.is_complex) for t in types)

    def scalars(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Arguments that are numbers."""
        found: dict[str, Any] = {}
        for name, _, value in self._pairs(args, kwargs):
            if isinstance(value, (bool, int, float)):
                found[name] = number(value)
            elif isinstance(value, (list, tuple)) and value and all(type(v) is int for v in value) and len(value) < 3:
                for i, v in enumerate(value):
                    found[f"{name}[{i}]"] = number(v)
        return found


class Operators:
    """Operators by overload, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[Any, Operator] = {}

    def of(self, func: Any) -> Operator:
        op = self._known.get(func)
        if op is None:
            op = self._known[func] = Operator(func)
        return op


def _named(name: str, value: Any, into: list[tuple[str, Tensor]]) -> None:
    if isinstance(value, Tensor):
        into.append((name, value))
    elif isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            if isinstance(item, Tensor):
                into.append((f"{name}[{i}]", item))
