"""Collectives that the program calls itself, through the methods of `ProcessGroup` that all of `torch.distributed` ends in.

What DDP and FSDP call in C++ is not seen here, only when a step is run again.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from nanscope._core import caller
from nanscope.capture.recorder import Recorder, flatten, storage_id

# Methods whose first argument is what they write.
WRITES = (
    "allreduce", "allreduce_coalesced", "broadcast", "reduce", "allgather", "_allgather_base", "allgather_coalesced",
    "allgather_into_tensor_coalesced", "gather", "scatter", "reduce_scatter", "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced", "alltoall", "alltoall_base",
)  # fmt: skip
PENDING_MAX = 4096  # collectives that are remembered until they are over
PRUNED_EVERY = 64  # collectives, after which those that are over are let go of
_reductions: list[str] = []  # of the calls that are running, the innermost last


class Job(Protocol):
    """What is told of the job that the process belongs to."""

    def joined(self) -> None: ...
    def reduced(self, tensors: list[torch.Tensor]) -> None: ...


@dataclass
class Started:
    """One collective; `place` is `(code, instruction, line)` of the program."""

    op: str
    work: Any
    storages: list[int]
    tensors: list[weakref.ref[torch.Tensor]]
    place: Any

    def is_over(self) -> bool:
        """gloo tells those that wait for the future before it says so itself."""
        if self.work.is_completed():
            return True
        try:
            return bool(self.work.get_future().done())
        except RuntimeError:  # a backend without futures
            return False


class Pending:
    """Asynchronous collectives that were started and may not be over."""

    def __init__(self) -> None:
        self.works: list[Started] = []
        self._until_pruned = PRUNED_EVERY
        self.noted: Callable[[], None] = lambda: None

    def note(self, name: str, work: Any, written: Any) -> None:
        """One more, of tensors on a CPU: on a device an order is kept that only the device knows. No tensor is kept alive."""
        tensors: list[torch.Tensor] = []
        flatten(written, tensors)
        if not tensors or not all(t.is_cpu for t in tensors):
            return
        self._until_pruned -= 1
        if self._until_pruned <= 0:
            self._until_pruned = PRUNED_EVERY
            self.works = self.unfinished()[-PENDING_MAX:]
        storages, weak = [storage_id(t) for t in tensors], [weakref.ref(t) for t in tensors]
        self.works.append(Started(f"c10d.{name}_", work, storages, weak, caller()))
        self.noted()

    def unfinished(self) -> list[Started]:
        """Those that are not over, and whose tensors are there."""
        self.works = [s for s in self.works if any(weak() is not None for weak in s.tensors) and not s.is_over()]
        return self.works


def reduction() -> str | None:
    """`sum`, `max` and so on, of the collective that the program has called; `None` where C++ has."""
    return _reductions[-1] if _reductions else None


def install(recorder: Recorder, job: Job, pending: Pending) -> Callable[[], None]:
    """Patches `ProcessGroup` and `init_process_group`. Top-level calls on tensors of the step become events of kind `comm`."""
    if not torch.distributed.is_available():
        return lambda: None
    group = torch._C._distributed_c10d.ProcessGroup
    undo = [_method(recorder, job, pending, group, name) for name in WRITES if hasattr(group, name)]
    for home in (torch.distributed, torch.distributed.distributed_c10d):
        undo.append(_init(home, job))

    def uninstall() -> None:
        for step in undo:
            step()

    return uninstall


def _method(recorder: Recorder, job: Job, pending: Pending, group: Any, name: str) -> Callable[[], None]:
    original = getattr(group, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        _reductions.append(_reduction(args, kwargs))
        try:
            if not args or recorder.closed:
                return original(self, *args, **kwargs)
            written = args[0]
            if name.startswith("allreduce"):
                reduced: list[torch.Tensor] = []
                flatten(written, reduced)
                job.reduced(reduced)
            if not recorder.live():
                work = original(self, *args, **kwargs)
            else:
                work = _recorded(recorder, original, method, self, args, kwargs, written)
            if work is not None and any(getattr(a, "asyncOp", False) for a in args):
                pending.note(name, work, written)
            return work
        finally:
            _reductions.pop()

    method.__name__ = method.__qualname__ = name
    own = vars(group).get(name)  # what `getattr` gives of a class of C++ does not bind any more
    setattr(group, name, method)
    return functools.partial(delattr, group, name) if own is None else functools.partial(setattr, group, name, own)


def _recorded(recorder: Recorder, original: Any, method: Any, group: Any, args: Any, kwargs: Any, written: Any) -> Any:
    popped = recorder.enter()
    try:
        tensors: list[torch.Tensor] = []
        flatten(written, tensors)
        states = [recorder.before_change(t) for t in tensors]
        read: list[torch.Tensor] = []
        flatten(args, read)
        flows = any(t.requires_grad or recorder.producer(t) is not None for t in read)
        if not flows and all(state == "unread" for state in states):
            return original(group, *args, **kwargs)  # nothing of this step is in it
        event = recorder.event("comm", method)
        for tensor, state in zip(tensors, states, strict=True):
            if state == "unread":
                recorder.keep_original(tensor)
        recorder.write(event, (group, *args), kwargs, True)
        result = original(group, *args, **kwargs)
        recorder.outputs(event, tensors)
        return result
    finally:
        recorder.leave(popped)


def _reduction(args: Any, kwargs: Any) -> str:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (torch.Tensor, list, tuple)):  # or it would be printed
            continue
        found = getattr(value, "reduceOp", value)
        name = str(getattr(found, "op", found))
        if name.startswith("RedOpType."):
            return name.removeprefix("RedOpType.").lower()
    return ""


def _init(home: Any, job: Job) -> Callable[[], None]:
    original = home.init_process_group

    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        job.joined()
        return result

    home.init_process_group = init_process_group

    def uninstall() -> None:
        home.init_process_group = original

    return uninstall
