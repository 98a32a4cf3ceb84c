"""Names for tensors and modules, as the user would write them."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import torch

from nanscope.capture.event import Event, Ref
from nanscope.capture.recorder import flatten, storage_id


class Names:
    """Parameters, buffers, optimizer state by storage; modules by identity.

    With several root modules a name begins with the variable that holds the root (`G.0.weight`), if one is found in
    `__main__`, otherwise with its class.
    """

    def __init__(self, roots: list[torch.nn.Module], optimizers: list[Any]) -> None:
        self.sources: dict[int, dict[str, Any]] = {}
        self.modules: dict[int, str] = {}
        self.parameters: dict[int, tuple[str, torch.Tensor]] = {}
        roots = outermost(roots)
        carrying = [r for r in roots if next(r.parameters(), None) is not None or next(r.buffers(), None) is not None]
        for root in roots:
            label = variable(root) or type(root).__name__
            prefix = f"{label}." if len(carrying) > 1 else ""
            for path, module in root.named_modules():
                self.modules.setdefault(id(module), f"{prefix}{path}" if path else label)
            for name, parameter in root.named_parameters():
                self._parameter(f"{prefix}{name}", parameter)
            for name, buffer in root.named_buffers():
                self.sources.setdefault(storage_id(buffer), {"kind": "buffer", "name": f"{prefix}{name}"})
        for optimizer in optimizers:
            for g, group in enumerate(optimizer.param_groups):
                for i, parameter in enumerate(group["params"]):
                    name = variable(parameter) or f"{type(optimizer).__name__}.param_groups[{g}].params[{i}]"
                    self._parameter(name, parameter)
            for parameter, state in optimizer.state.items():
                if not isinstance(parameter, torch.Tensor):
                    continue
                name = self.parameters.get(id(parameter), ("a parameter", parameter))[0]
                for key, value in state.items():
                    if isinstance(value, torch.Tensor):
                        self.sources.setdefault(storage_id(value), {"kind": "state", "name": f"{key} of {name}"})

    def _parameter(self, name: str, parameter: torch.Tensor) -> None:
        if id(parameter) not in self.parameters:
            self.parameters[id(parameter)] = (name, parameter)
            self.sources.setdefault(storage_id(parameter), {"kind": "param", "name": name})

    def all_parameters(self) -> list[torch.Tensor]:
        """Every parameter that was named."""
        return [p for _, p in self.parameters.values()]

    def of(self, tensor: torch.Tensor) -> str | None:
        """Name of a parameter or buffer."""
        known = self.parameters.get(id(tensor))
        if known is not None:
            return known[0]
        source = self.sources.get(storage_id(tensor))
        return None if source is None else str(source["name"])


def outermost(roots: list[torch.nn.Module]) -> list[torch.nn.Module]:
    """`roots` without those that lie inside another of them."""
    inside: set[int] = set()
    for root in roots:
        inside.update(id(m) for m in root.modules() if m is not root)
    return [r for r in roots if id(r) not in inside]


def variable(value: Any) -> str | None:
    """How the program would write `value`: a global of `__main__`, or an element of a global list, tuple or dict."""
    main = sys.modules.get("__main__")
    bound = [(n, v) for n, v in list(vars(main).items()) if not n.startswith("_")] if main is not None else []
    for name, item in bound:
        if item is value:
            return name
    for name, item in bound:
        if type(item) in (list, tuple):
            for i, element in enumerate(item):
                if element is value:
                    return f"{name}[{i}]"
        elif type(item) is dict:
            for key, element in item.items():
                if element is value:
                    return f"{name}[{key!r}]"
    return None


def _called(event: Any) -> tuple[Any, str]:
    if event.kind == "module":
        return event.target.forward, f"{type(event.target).__name__}.forward"
    return event.target, function_name(event.target)


def leaves(event: Event) -> list[str]:
    """Names of the tensors among the recorded arguments of an event, in the order in which they are met."""
    function, label = _called(event)
    names: dict[int, str] = {}
    for name, value in _bound(function, event.args, event.kwargs):
        names.update((id(leaf), f"argument {name} of {label}") for leaf in _leaves(value))
    return [names.get(id(leaf), f"an argument of {label}") for leaf in _leaves((event.args, event.kwargs))]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (torch.Tensor, Ref)):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    return [leaf for item in value for leaf in _leaves(item)]


def arguments(event: Any, args: Any, kwargs: Any) -> dict[int, str]:
    """Storage -> name of each tensor argument of an event, as `argument x of Net.forward`."""
    function, label = _called(event)
    found: dict[int, str] = {}
    for name, value in _bound(function, args, kwargs):
        tensors: list[torch.Tensor] = []
        flatten(value, tensors)
        for tensor in tensors:
            found.setdefault(storage_id(tensor), f"argument {name} of {label}")
    return found


def _bound(function: Any, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    try:
        parameters = inspect.signature(function).parameters
        bound = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):  # builtins have no signature
        return [(str(i), a) for i, a in enumerate(args)] + list(kwargs.items())
    found: list[tuple[str, Any]] = []
    for name, value in bound.items():
        kind = parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found += [(f"{name}[{i}]", v) for i, v in enumerate(value)]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found += list(value.items())
        else:
            found.append((name, value))
    return found


def function_name(function: Any) -> str:
    """`torch.nn.functional.cross_entropy`, `Tensor.mul`, `Ckpt.apply`."""
    owner = getattr(function, "__objclass__", None)
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", type(function).__name__))
    if owner is not None:
        return f"Tensor.{getattr(function, '__name__', name)}"
    module = getattr(function, "__module__", None)
    if name in ("__get__", "__set__"):
        return f"Tensor.{getattr(getattr(function, '__self__', None), '__name__', name)}"
    if module in ("torch.nn.functional", "torch.nn.utils.clip_grad", "torch.utils.checkpoint"):
        return f"{module}.{name}"
    if "." not in name and (module is None or module.startswith("torch")):
        return f"torch.{name}"
    return name
