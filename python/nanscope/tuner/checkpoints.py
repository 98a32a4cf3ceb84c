"""The step with other checkpointing than the program's: none of its own, torch's around the calls of chosen modules."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import checkpoint as home

GENERATOR = "_checkpoint_without_reentrant_generator"
Around = Callable[[Any, Any], contextlib.AbstractContextManager[Any]]


@contextlib.contextmanager
def calls(of: Callable[[torch.nn.Module, Any, Any, Any], Any]) -> Iterator[None]:
    """Every module is called as `of(module, original, args, kwargs)` says."""
    original = torch.nn.Module.__call__

    def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
        return of(module, original, args, kwargs)

    torch.nn.Module.__call__ = __call__  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.nn.Module.__call__ = original  # type: ignore[method-assign]


class Chosen:
    """`torch.utils.checkpoint(use_reentrant=False)` around the calls of `modules`; what the program checkpoints is called as it is,
    inside `around(function, arguments)`."""

    def __init__(self, modules: list[torch.nn.Module], around: Around | None = None) -> None:
        self._chosen = {id(module) for module in modules}
        self._around = around or (lambda function, arguments: contextlib.nullcontext())
        self._ours = False

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        generator = getattr(home, GENERATOR)
        cls = home.CheckpointFunction
        apply = cls.__dict__.get("apply")

        def once(*args: Any, **kwargs: Any) -> Any:
            if self._ours:
                self._ours = False
                return generator(*args, **kwargs)
            return self._plain(args, kwargs)

        def direct(function: Any, preserve: Any, *args: Any) -> Any:
            with self._around(function, args):
                return function(*args)

        setattr(home, GENERATOR, once)
        cls.apply = staticmethod(direct)  # type: ignore[method-assign]
        try:
            with calls(self._called):
                yield
        finally:
            setattr(home, GENERATOR, generator)
            if apply is None:
                del cls.apply
            else:
                cls.apply = apply  # type: ignore[method-assign]

    def _plain(self, args: Any, kwargs: Any) -> Iterator[None]:
        with self._around(args[0], (args[1:], kwargs)):
            yield

    def _called(self, module: torch.nn.Module, original: Any, args: Any, kwargs: Any) -> Any:
        if id(module) not in self._chosen or not torch.is_grad_enabled():
            return original(module, *args, **kwargs)
        self._ours = True
        return home.checkpoint(functools.partial(original, module), *args, use_reentrant=False, **kwargs)
