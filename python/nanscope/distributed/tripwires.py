"""The first sign that a process trains: it joins a process group, makes an optimizer, or calls backward."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from typing import Any


class Tripwires:
    """Calls `begin` once, at the first sign. `install` needs no torch: where it is not there yet, it waits for its import."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Lays the wires."""
        if "torch" in sys.modules:
            self._lay()
            return
        waiting = _Waiting(self._lay)
        sys.meta_path.insert(0, waiting)
        self._undo.append(waiting.remove)

    def uninstall(self) -> None:
        """Takes them up. Called again, it does nothing."""
        undo, self._undo = self._undo, []
        for step in reversed(undo):
            step()

    def _tripped(self) -> None:
        self.uninstall()
        self._begin()

    def _lay(self) -> None:
        import torch

        self._wire(torch.optim.Optimizer, "__init__", after=False)
        self._wire(torch.Tensor, "backward", after=False)
        self._wire(torch.autograd, "backward", after=False)
        if torch.distributed.is_available():
            for home in (torch.distributed, torch.distributed.distributed_c10d):
                self._wire(home, "init_process_group", after=True)

    def _wire(self, home: Any, name: str, after: bool) -> None:
        original = getattr(home, name)

        @functools.wraps(original)
        def wire(*args: Any, **kwargs: Any) -> Any:
            if not self._undo:  # a reference that outlived the wires
                return (
                    getattr(home, name)(*args, **kwargs)
                    if getattr(home, name) is not wire
                    else original(*args, **kwargs)
                )
            if after:
                result = original(*args, **kwargs)
                self._tripped()
                return result
            self._tripped()
            # What the watch has put in its place, perhaps.
            return getattr(home, name)(*args, **kwargs)

        setattr(home, name, wire)
        self._undo.append(functools.partial(setattr, home, name, original))


class _Waiting(importlib.abc.MetaPathFinder):
    """Calls `then` once torch has been imported."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        self.remove()
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        loader = spec.loader if spec is not None else None
        if loader is None:
            return spec
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            self._then()

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
