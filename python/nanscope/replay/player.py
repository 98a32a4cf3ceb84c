"""Plays a tape: the same calls on the same inputs with the same random state, everything put back afterwards."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from nanscope.capture.event import Event, Ref, Tape, closure
from nanscope.capture.recorder import flatten
from nanscope.capture.state import generators, random_state, restore, set_generators, set_random_state
from nanscope.replay import comm


class Unplayable(Exception):
    """The tape cannot be run again; the text says why."""


class Player:
    """One replay of one tape.

    `state_before` are `(tensor, copy)` pairs to put in place first (parameters before a step that damaged them).
    After `play`, `results[serial]` holds the outputs of each event, `losses` pairs `(event, replayed value)`.
    """

    def __init__(self, tape: Tape, last: Event | None, optimizers: list[Any], scalers: list[Any]) -> None:
        self.tape = tape
        self.events = closure(tape) + ([last] if last is not None else [])
        self.optimizers = optimizers
        self.scalers = scalers
        self.results: dict[int, list[torch.Tensor]] = {}
        self.losses: list[tuple[Event, float]] = []
        self.problems: list[str] = list(tape.unsafe)
        self.error: BaseException | None = None
        self.together = False  # all ranks run this step again, in step with each other
        if tape.overflow:
            raise Unplayable("the step has more top-level events than a tape holds")

    def play(self, around: Any, parameters: list[torch.Tensor], over: Callable[[], None] | None = None) -> None:
        """Runs every event inside `around(event)`, a context manager that watches operators. `over` is called at the end,
        before anything is put back."""
        with kept(parameters, self.optimizers, self.scalers, self.events, self.tape), quiet(), comm.mode(self.together):
            try:
                self._play(around)
                self.gradients = {id(p): p.grad for p in parameters}
            finally:
                if over is not None:
                    over()

    def _play(self, around: Any) -> None:
        for event in self.events:
            try:
                self._run(event, around)
            except Unplayable:
                raise
            except Exception as error:  # noqa: BLE001 - the program's own call, which may raise anything
                self.error = error
                if not event.failed:
                    self.problems.append(f"a replayed call failed: {type(error).__name__}: {error}")
                break

    def _run(self, event: Event, around: Any) -> None:
        args, kwargs = self.arguments(event)
        if event.state is not None:
            restore(event.state)
        if event.random is not None:
            set_random_state(event.random)
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.inference_mode(event.inference) if event.inference else contextlib.nullcontext())
            stack.enter_context(torch.set_grad_enabled(event.grad_mode))
            for device, dtype in event.autocast:
                stack.enter_context(torch.autocast(device, dtype=dtype))
            if event.saved_hooks is not None:
                stack.enter_context(torch.autograd.graph.saved_tensors_hooks(*event.saved_hooks))
            if event.kind == "backward" and event.value is not None:
                root = args[0] if isinstance(args[0], torch.Tensor) else args[0][0]
                self.losses.append((event, root.item()))
            stack.enter_context(eager())
            stack.enter_context(around(event, args, kwargs))
            result = self.call(event, args, kwargs)
        found: list[torch.Tensor] = []
        target = result
        if event.kind == "comm":
            target = args[1]  # args[0] is the process group
        elif event.kind == "function" and result is None and args:
            target = kwargs.get("out", args[0])  # `__setitem__` returns nothing; what it changed is its output
        flatten(target, found)
        self.results[event.serial] = found

    def arguments(self, event: Event) -> tuple[Any, Any]:
        """Arguments of an event, what earlier events have made in the place of references."""
        return self._decode(event.args), self._decode(event.kwargs)

    def call(self, event: Event, args: Any, kwargs: Any) -> Any:
        """The call itself, everything around it in force."""
        return event.target.step() if event.kind == "step" else event.target(*args, **kwargs)

    def _decode(self, value: Any) -> Any:
        if isinstance(value, Ref):
            made = self.results.get(value.event.serial, [])
            if value.position >= len(made):
                raise Unplayable("a call returned fewer tensors than the first time")
            return made[value.position]
        kind = type(value)
        if kind is tuple:
            return tuple([self._decode(v) for v in value])
        if kind is list:
            return [self._decode(v) for v in value]
        if kind is dict:
            return {k: self._decode(v) for k, v in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return tuple.__new__(kind, [self._decode(v) for v in value])
        return value


def eager() -> Any:
    """Compiled modules run eagerly: an operator inside a compiled kernel cannot be seen."""
    stance = getattr(torch.compiler, "set_stance", None) if "torch._dynamo" in sys.modules else None
    return stance("force_eager") if stance is not None else contextlib.nullcontext()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """The program has printed its lines already."""
    out, sys.stdout = sys.stdout, io.StringIO()
    err, sys.stderr = sys.stderr, io.StringIO()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


@contextlib.contextmanager
def kept(
    parameters: list[torch.Tensor], optimizers: list[Any], scalers: list[Any], events: list[Event], tape: Tape
) -> Iterator[None]:
    """Gradients empty, outside tensors as they were first read; on leaving, everything as it was on entering."""
    random, others = random_state(), generators({"random", "numpy"})
    gradients = [(p, p.grad) for p in parameters]
    required = [(p, p.requires_grad) for p in parameters]
    states = [event.state for event in events if event.state is not None]
    now = [_now(state) for state in states]
    changed = [(tensor, tensor.detach().clone()) for tensor, _ in tape.originals.values()]
    stages = [(s, dict(s.__dict__)) for s in scalers]
    copies = [(o, {p: _copy(v) for p, v in o.state.items()}, [dict(g) for g in o.param_groups]) for o in optimizers]
    weights = [(p, p.detach().clone()) for p in parameters] if optimizers else []
    try:
        for p in parameters:
            p.grad = None
        with torch.no_grad():
            for tensor, copy in tape.originals.values():
                tensor.data.copy_(copy)
        for scaler in scalers:
            scaler._per_optimizer_states = type(scaler._per_optimizer_states)(
                scaler._per_optimizer_states.default_factory
            )
        yield
    finally:
        with torch.no_grad():
            for tensor, copy in changed:
                tensor.data.copy_(copy)
            for tensor, copy in weights:
                tensor.data.copy_(copy)
        for state in reversed(now):
            restore(state)
        for p, grad in gradients:
            p.grad = grad
        for p, flag in required:
            if p.is_leaf:
                p.requires_grad_(flag)
        for scaler, values in stages:
            scaler.__dict__.clear()
            scaler.__dict__.update(values)
        for optimizer, state, groups in copies:
            optimizer.state.clear()
            optimizer.state.update(state)
            for group, values in zip(optimizer.param_groups, groups, strict=True):
                group.clear()
                group.update(values)
        set_generators(others)
        set_random_state(random)


def _now(state: Any) -> Any:
    """The present state of what `state` describes, so that it can be put back."""
    new = type(state)()
    new.buffers = [(tensor, tensor.detach().clone()) for tensor, _ in state.buffers]
    new.attributes = [(module, dict(module.__dict__)) for module, _ in state.attributes]
    new.containers = [(container, container.copy()) for container, _ in state.containers]
    new.generators = {}
    return new


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v.detach().clone() if isinstance(v, torch.Tensor) else v for k, v in state.items()}
