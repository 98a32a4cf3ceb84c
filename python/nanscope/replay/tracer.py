"""Watches every operator of a replay and writes the ledger."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from types import CodeType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from nanscope.attention.observer import Observer
from nanscope.capture import autograd, saved
from nanscope.capture.event import Event
from nanscope.capture.lines import is_user
from nanscope.capture.recorder import flatten, storage_id
from nanscope.replay import births, comm, values
from nanscope.replay.names import Names, arguments, function_name
from nanscope.replay.operators import Operators
from nanscope.replay.places import place as make_place
from nanscope.replay.player import Player
from nanscope.replay.reference import Shadows
from nanscope.replay.running import running

Tensor = torch.Tensor
RUN_CODE = Player._run.__code__
BACKWARD_CODE = autograd.record.__code__
SEQUENCE_MAX = 1 << 62  # AccumulateGrad carries the largest number


class Tracer(TorchDispatchMode):
    """Entries of one replay, or of a step as it happens. `writers` maps a storage to the entry that wrote it last."""

    def __init__(self, empties: dict[int, Any], base: str, wide: bool = True) -> None:
        super().__init__()
        self.base = base
        self.empties = empties
        self.unpacks: set[CodeType] = set()  # saved-tensor hooks: what runs there in backward is not a gradient hook
        self.entries: list[dict[str, Any]] = []
        self.operators = 0
        self.writers: dict[int, int] = {}
        self.loss_entries: list[int] = []
        self._bad_writers: dict[int, int] = {}  # storage -> the entry that last wrote something bad into it
        self._known = Operators()
        self._alive: dict[int, StorageWeakRef] = {}
        self.shadows = Shadows(self._alive) if wide else None
        self.attention = Observer(self.writers) if wide else None
        self._forward: dict[
            int, tuple[int | None, Any, Any, bool]
        ] = {}  # sequence number -> entry, place, module, hooked
        self._event: Event | None = None
        self._phase = "forward"
        self._label: str | None = None
        self._data: dict[int, str] = {}
        self._autocast: str | None = None
        self._modules: list[torch.nn.Module] = []
        self._allocated: dict[int, Any] = {}  # storage -> place, of memory that operators of this step allocated
        self.exponents: Counter[int] = Counter()  # of what backward has written in float16, as it is in float64
        self.phases: dict[int, str] = {}  # of top-level calls after backward: see phases.phases

    # ---- events

    @contextlib.contextmanager
    def around(self, event: Event, args: Any, kwargs: Any) -> Iterator[None]:
        """Operators run inside belong to `event`."""
        self.begin(event, args, kwargs)
        with self, self.named_modules():
            yield

    def begin(self, event: Event, args: Any, kwargs: Any) -> None:
        """What follows belongs to `event`."""
        for hook in event.saved_hooks or ():
            code = getattr(hook, "__code__", None)
            if code is not None:
                self.unpacks.add(code)
        if self.shadows is not None and event.state is not None:
            self.shadows.restored(tensor for tensor, _ in event.state.buffers)
        self._event = event
        self._label = function_name(event.target) if event.kind in ("function", "call", "grad") else None
        self._phase = self._phase_of(event)
        self._autocast = str(event.autocast[-1][1]).removeprefix("torch.") if event.autocast else None
        for storage, name in arguments(event, args, kwargs).items():
            if storage not in self.writers:
                self._data.setdefault(storage, name)
        if event.kind in ("backward", "grad"):
            for root in [args[0]] if isinstance(args[0], Tensor) else args[0]:
                entry = self.writers.get(storage_id(root))
                if entry is not None:
                    self.loss_entries.append(entry)

    def finish(self) -> None:
        """The event of `begin` is over."""
        self._event, self._label, self._phase, self._autocast = None, None, "forward", None

    def _phase_of(self, event: Event) -> str:
        if event.kind == "step":
            return "optimizer"
        name = getattr(event.target, "__name__", "")
        if name.startswith("clip_grad"):
            return "clip"
        if name == "unscale_":
            return "unscale"
        if name == "zero_grad":
            return "optimizer"
        return self.phases.get(event.serial, "forward")

    def named_modules(self) -> contextlib.AbstractContextManager[None]:
        """Keeps the stack of running modules."""
        return running(self._modules)

    # ---- operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if comm.is_collective(func):
            self.operators += 1
            return comm.entry(self, func, args, kwargs, *self._where(torch._C._current_autograd_node())[:2])
        op = self._known.of(func)
        self.operators += 1
        sequence = torch._C._autograd._get_sequence_nr() - 1
        node = torch._C._current_autograd_node()
        if op.is_view:
            result = func(*args, **kwargs)
            if node is None:
                self._note(sequence, None, *self._where(None)[:2])
            for tensor in _tensors(result):
                self._keep(tensor)
            return result
        read = op.tensors(args, kwargs)
        before = births.copies(op, args, kwargs)
        inputs = [self._arg(name, tensor) for name, tensor in read]
        place, module, phase = self._where(node)
        ready = self.shadows.before(op, args, kwargs) if self.shadows is not None and not op.allocates else None
        result = func(*args, **kwargs)
        written = op.results(args, kwargs, result)
        if op.allocates or not (inputs or written):
            for _, tensor in written:
                self._keep(tensor)
                if self.shadows is not None:
                    self.shadows.restored([tensor])
                if op.allocates:
                    self._allocated[storage_id(tensor)] = place or (self._event.place if self._event else None)
            return result
        outputs = [self._arg(name, tensor, out=True) for name, tensor in written]
        index = len(self.entries)
        entry: dict[str, Any] = {
            "index": index,
            "event": self._event.serial if self._event else 0,
            "phase": phase,
            "op": op.name,
        }
        forward = None
        if node is not None and phase == "backward":
            entry["node"] = node.name().removeprefix("struct ").rsplit("::", 1)[-1]
            forward = self._forward.get(node._sequence_nr()) if node._sequence_nr() < SEQUENCE_MAX else None
            if forward is not None:
                entry["forward"] = forward[0]
                place, module = (place or forward[1]), (module or forward[2])
        if place is None and self._event is not None:
            place = self._event.place
        if place is not None:
            entry["place"] = place
        if module is not None:
            entry["module"] = module
        if self._label is not None and phase != "backward":
            entry["call"] = self._label
        if self._autocast is not None:
            entry["autocast"] = self._autocast
        entry["inputs"], entry["outputs"] = inputs, outputs
        scalars = op.scalars(args, kwargs)
        if scalars:
            entry["scalars"] = scalars
        saved = node if forward is not None and not forward[3] else None
        for _, tensor in written:
            self._keep(tensor)
        if self.shadows is not None:
            self.shadows.after(op, ready, entry, read, written, result)
            if phase == "backward":
                for _, tensor in written:
                    if tensor.dtype is torch.float16:
                        self.exponents.update(dict(self.shadows.exponents(tensor)))
        read = births.describe(entry, op, before, args, kwargs, read, written, saved, self._arg)
        if self.shadows is not None:
            self.shadows.references(entry, read, written, op.writes)
        self.entries.append(entry)
        if self.attention is not None:
            self.attention.after(op, args, kwargs, result, entry, module)
        for (_, tensor), arg in zip(written, outputs, strict=True):
            key = storage_id(tensor)
            self.writers[key] = index
            if births.bad(arg):
                self._bad_writers[key] = index
        if node is None or torch.is_grad_enabled():
            self._note(sequence, index, place, module)
        return result

    def _note(self, sequence: int, entry: int | None, place: Any, module: Any) -> None:
        """The first operator after a node was made is the operator that the node belongs to."""
        if sequence not in self._forward:
            hooked = saved.hooks() is not None
            if place is None and self._event is not None:
                place = self._event.place
            self._forward[sequence] = (entry, place, module, hooked)

    def _where(self, node: Any) -> tuple[Any, torch.nn.Module | None, str]:
        """Innermost user line below the event, running module, phase."""
        frame = sys._getframe(2)
        found, checkpoint, function, hook = None, False, False, True
        while frame is not None:
            code = frame.f_code
            if code is RUN_CODE or (code is BACKWARD_CODE and node is not None):
                break  # above it lies the program as it was at the trip, or the line that called backward
            if found is None and is_user(code):
                found = (code, frame.f_lasti, frame.f_lineno)
            name = code.co_filename
            if name.endswith("torch/utils/checkpoint.py"):
                checkpoint = True
            elif name.endswith("torch/autograd/function.py"):
                function = True
            if code in self.unpacks:
                hook = False
            frame = frame.f_back  # type: ignore[assignment]
        module = self._modules[-1] if self._modules else None
        if node is None:
            return found, module, self._phase
        recompute = torch.is_grad_enabled() and (checkpoint or function)
        if found is None:  # a block made of torch's own modules has no line of its own
            return (None, module, "recompute") if recompute and checkpoint else (None, None, "backward")
        if recompute or checkpoint:
            return found, module, "recompute"
        return found, module, "backward" if function or not hook else "hook"

    def _keep(self, tensor: Tensor) -> None:
        """Keeps the identity of a storage from being reused while the replay runs; its memory is freed as usual."""
        key = storage_id(tensor)
        if key > 0 and key not in self._alive:
            self._alive[key] = StorageWeakRef(tensor.untyped_storage())

    def _arg(self, name: str, tensor: Tensor, out: bool = False) -> dict[str, Any]:
        arg: dict[str, Any] = {
            "name": name,
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "device": str(tensor.device),
        }
        counts = values.counts(tensor)
        if counts is not None:
            nan, posinf, neginf, largest = counts
            arg["counts"] = {"nan": nan, "posinf": posinf, "neginf": neginf}
            if largest is not None:
                arg["counts"]["max_abs"] = largest
        if not out:
            key = storage_id(tensor)
            # What is bad in memory that was written in parts came with the last bad part, or was there before.
            writer = (self._bad_writers if births.bad(arg) else self.writers).get(key)
            if writer is not None:
                arg["from"] = writer
            else:
                self._keep(tensor)
                arg["source"] = (key, tensor._version, self._event.serial if self._event else 0)
        return arg

    # ---- the ledger

    def ledger(self, names: Names) -> list[dict[str, Any]]:
        """Entries as plain data; places, modules and sources get their names."""
        for entry in self.entries:
            self._resolve(entry)
            module = entry.get("module")
            if module is not None:
                entry["module"] = names.modules.get(id(module)) or type(module).__name__
            for arg in entry["inputs"]:
                if "source" in arg:
                    arg["source"] = self._source(names, not arg["shape"], *arg["source"])
            if entry.get("forward", 0) is None:
                del entry["forward"]
        return self.entries

    def tell_whole(self, ledger: dict[str, Any], trip_entry: int | None) -> None:
        """Adds what the float64 execution of the step showed at the trip, and why it ended early if it did."""
        if self.shadows is None:
            return
        if self.shadows.operators:
            ledger["whole"] = self.shadows.whole(trip_entry)
        if self.shadows.stopped is not None:
            ledger["warnings"] = [*ledger["warnings"], self.shadows.stopped]

    def tell_attention(self, ledger: dict[str, Any]) -> None:
        """Adds what the attention of the step showed. To be called once `ledger` has its entries."""
        if self.attention is None:
            return
        calls = self.attention.finish(ledger["entries"])
        refused = dict.fromkeys(self.attention.refused)
        ledger.setdefault("warnings", []).extend(f"a call of attention was not looked at: {why}" for why in refused)
        if calls:
            ledger["attention"] = calls

    def _source(self, names: Names, scalar: bool, key: int, version: int, event: int) -> dict[str, Any]:
        if key in self._allocated:
            source: dict[str, Any] = {"kind": "unwritten"}
            if self._allocated[key] is not None:
                source["place"] = self._allocated[key]
            self._resolve(source)
            return source
        known = names.sources.get(key)
        if known is None:
            name = self._data.get(key) or ("a number in the program" if scalar else "a tensor made outside the step")
            return {"kind": "data", "name": name, "event": event}
        source = dict(known)
        if source["kind"] == "param" and key in self.empties and self.empties[key][1] == version:
            source["unwritten"] = True
            if self.empties[key][2] is not None:
                source["place"] = self.empties[key][2]
            self._resolve(source)
        return source

    def _resolve(self, holder: dict[str, Any]) -> None:
        place = holder.get("place")
        if isinstance(place, tuple):
            holder["place"] = make_place(*place, self.base)

    def entry_of(self, tensor: Tensor | None) -> int | None:
        """The entry that wrote `tensor` last."""
        return None if tensor is None else self.writers.get(storage_id(tensor))


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    flatten(value, found)
    return found
