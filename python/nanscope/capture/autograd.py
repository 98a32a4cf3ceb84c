"""`backward` and `autograd.grad`, called anywhere at top level."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from nanscope import _core
from nanscope.capture.event import Event
from nanscope.capture.failure import OnFailure, Ours
from nanscope.capture.recorder import Recorder

Loss = Callable[[Event, list[torch.Tensor]], None]


def install(recorder: Recorder, loss: Loss, calm: _core.Calm) -> Callable[[], None]:
    """Patches `Tensor.backward`, `torch.autograd.backward` and `torch.autograd.grad`.

    `loss(event, roots)` is told before the pass begins; it may raise to keep it from happening. `calm` reads a loss that is
    finite.
    """
    tensor_backward, backward, grad = torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad

    def of_tensor(
        self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
    ) -> Any:
        inputs = _listed(inputs)
        return record(
            recorder,
            loss,
            "backward",
            tensor_backward,
            (self, gradient, retain_graph, create_graph, inputs),
            {},
            [self],
        )

    def of_autograd(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        args, kwargs = tuple(_listed(a) for a in args), {k: _listed(v) for k, v in kwargs.items()}
        return record(recorder, loss, "backward", backward, (roots, *args), kwargs, roots)

    def of_grad(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(_listed(a) for a in args), {k: _listed(v) for k, v in kwargs.items()}
        higher = kwargs.get("create_graph", len(args) > 3 and args[3])
        roots = [] if higher else [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        return record(recorder, loss, "grad", grad, (outputs, *args), kwargs, roots)

    stand_in = _core.Backward(recorder, calm, tensor_backward, of_tensor, loss)
    torch.Tensor.backward = functools.update_wrapper(stand_in, tensor_backward)  # type: ignore[method-assign]
    for name, original, other in (("backward", backward, of_autograd), ("grad", grad, of_grad)):
        setattr(torch.autograd, name, _at_top_level(recorder, original, other))

    def uninstall() -> None:
        torch.Tensor.backward = tensor_backward  # type: ignore[method-assign]
        torch.autograd.backward = backward
        torch.autograd.grad = grad

    return uninstall


def _at_top_level(recorder: Recorder, original: Any, other: Any) -> Any:
    """`other` at the top level of the program, `original` inside something opaque."""

    compiles = torch.compiler.is_dynamo_compiling

    @functools.wraps(original)
    def gate(*args: Any, **kwargs: Any) -> Any:
        return (original if compiles() or not recorder.live() else other)(*args, **kwargs)

    return gate


def _listed(value: Any) -> Any:
    """A generator of tensors can be read once only."""
    return list(value) if isinstance(value, Iterator) else value


def record(
    recorder: Recorder, loss: Loss, kind: str, function: Any, args: Any, kwargs: Any, roots: list[torch.Tensor]
) -> Any:
    """Runs one pass as an event. In a traced step this frame separates the program's line from what runs in backward."""
    popped = recorder.enter()
    try:
        # The generators are not recorded: what came before on the tape leaves them as they were.
        event = recorder.event(kind, function)
        with Ours(recorder):
            # Before the call: what is read is known even if the pass raises.
            recorder.write(event, args, kwargs, True)
            if recorder.observer is not None:
                recorder.tell(event, args, kwargs)
            if roots:
                loss(event, roots)
        if roots:
            recorder.backward_done = True
            recorder.backward_serial = event.serial
        recorder.backwards += kind == "backward"
        carries = recorder.carries
        if carries:
            for carry in carries:
                carry.before_backward()
        recorder.in_backward = True
        try:
            with OnFailure(lambda: setattr(event, "failed", True)):
                result = function(*args, **kwargs)
        finally:
            recorder.in_backward = False
        if carries:
            for carry in carries:
                carry.after_backward()
        if result is not None:
            with Ours(recorder):
                recorder.outputs(event, result)
        return result
    finally:
        recorder.leave(popped)
