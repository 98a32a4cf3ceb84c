"""A tracer that remembers what every operator of forward and recomputation read and gave: digests, and a sample of values.

It also sees to it that a replay leaves nothing behind: what the program writes into memory that was there before, is put
back.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from nanscope.capture.event import Event
from nanscope.capture.lines import is_user
from nanscope.capture.recomputed import Seen
from nanscope.capture.recorder import flatten, storage_id
from nanscope.replay.operators import Operator
from nanscope.replay.sample import Value, largest
from nanscope.replay.tracer import BACKWARD_CODE, RUN_CODE, Tracer

Tensor = torch.Tensor
SAMPLES_MAX_BYTES = 256 << 20
COPYING = {"aten.copy_.default", "aten.clone.default", "aten._to_copy.default"}
_TOLD = (bool, int, float, str)
_seeded = torch.Tag.nondeterministic_seeded


class Write(NamedTuple):
    """An operator that has written into memory: how many calls and how many operators came before its end."""

    calls: int
    operators: int
    op: str
    place: Any


class Call:
    """One operator as it ran. `outer` is the line that has the block run again, where there is one."""

    __slots__ = (
        "again", "anchor", "arguments", "autocast", "by_torch", "entry", "event", "index", "inputs", "module", "node", "op",
        "outer", "outputs", "overwrites", "phase", "place", "random", "segment", "state",
    )  # fmt: skip

    index: int
    phase: str
    node: str | None
    entry: int | None
    outputs: list[Value]

    def __init__(self, op: Operator, place: Any, module: Any, inputs: list[Value], again: bool) -> None:
        self.op = op.name
        self.place = place
        self.module = module
        self.inputs = inputs
        self.again = again
        self.overwrites = op.overwrites
        self.entry = None
        self.outputs = []
        self.state: list[tuple[Tensor, int | None, Value]] = []  # outside tensors written: digest before, value after
        self.outer: Any = None
        self.by_torch = False
        self.anchor: int | None = None  # recompute: sequence number of the backward node that asked for it
        self.segment = -1
        self.arguments: dict[str, str] = {}
        self.random = False
        self.autocast: str | None = None
        self.event: Event | None = None

    def repeats(self, forward: Call) -> bool:
        """Whether it may be the recomputation of `forward`, of whose place and module it knows only what lies in the block."""
        return (
            self.op == forward.op
            and (self.module is None or self.module is forward.module)
            and (self.place in (None, self.outer) or self.place == forward.place)
        )


class Casting:
    """Which autocast format is in force: read whenever a context of autocast is entered or left. Inside an operator it can no
    longer be seen, and the function modes of torch are off throughout backward."""

    def __init__(self) -> None:
        self.format: str | None = None
        self._original: tuple[Any, Any] | None = None

    def __enter__(self) -> None:
        enter, leave = self._original = (torch.autocast.__enter__, torch.autocast.__exit__)

        @functools.wraps(enter)
        def entered(context: Any) -> Any:
            result = enter(context)
            self._read()
            return result

        @functools.wraps(leave)
        def left(context: Any, *args: Any) -> Any:
            result = leave(context, *args)
            self._read()
            return result

        torch.autocast.__enter__, torch.autocast.__exit__ = entered, left  # type: ignore[method-assign]
        self._read()

    def __exit__(self, *args: object) -> None:
        assert self._original is not None
        torch.autocast.__enter__, torch.autocast.__exit__ = self._original  # type: ignore[method-assign]

    def _read(self) -> None:
        self.format = None
        for device in ("cuda", "cpu"):
            if torch.is_autocast_enabled(device):
                self.format = str(torch.get_autocast_dtype(device)).removeprefix("torch.")
                break


class Witness(Tracer):
    """`calls` in order, forward and recomputation alike, with `everything` backward and updates too; `writes` of each storage
    in order."""

    def __init__(
        self, empties: dict[int, Any], base: str, seen: Seen, wide: bool = False, everything: bool = False
    ) -> None:
        super().__init__(empties, base, wide)
        self.everything = everything
        self.calls: list[Call] = []
        self.segments = 0
        self.started: dict[int, int] = {}  # sequence number -> number of calls when a node with it was there first
        self.writes: dict[int, list[Write]] = {}
        self.copies: dict[int, int] = {}  # storage -> that from which all of it was last copied
        self.settled: list[tuple[Call, Tensor, float | None]] = []  # see Witness._settle
        self._seen = seen
        self._answer: Any = None
        self._own: set[int] = set()  # storages that this replay has made
        self._saved: dict[int, tuple[Tensor, Tensor, Any]] = {}
        self._generators: dict[int, tuple[Any, Any]] = {}
        self._open: Call | None = None  # the last recomputed call, if no backward operator came after it
        self._kept = 0
        self._casting = Casting()

    @contextlib.contextmanager
    def around(self, event: Event, args: Any, kwargs: Any) -> Iterator[None]:
        with self._casting, super().around(event, args, kwargs):
            yield
        if event.kind in ("backward", "grad"):
            self._settle()

    def put_back(self) -> None:
        """What the player knows nothing of: memory from before the replay that was written, generators that were used. To
        be called before the player puts back what it has changed itself."""
        with torch.no_grad():
            # The first of several views of one memory was copied before the others: it has the last word.
            for tensor, copy, versions in reversed(list(self._saved.values())):
                tensor.data.copy_(copy)
                versions.__exit__(None, None, None)
        for generator, state in self._generators.values():
            generator.set_state(state)
        self._saved.clear()
        self._generators.clear()

    # ---- operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        op = self._known.of(func)
        node = torch._C._current_autograd_node()
        place, module, phase = super()._where(node)
        if place is not None and phase in ("backward", "hook") and torch.is_grad_enabled() and self._is_again(node):
            phase = "recompute"  # in a hook that unpacks what was saved
        self._answer = place, module, phase
        targets = _targets(op, args, kwargs)
        self._protect(targets, kwargs)
        again = phase == "recompute" and self._is_again(node)
        call = None
        if not op.is_view and not op.allocates and (again or self.everything or (node is None and phase == "forward")):
            here = place or (self._event.place if node is None and self._event is not None else None)
            call = Call(op, here, module, [Value(name, t) for name, t in _inputs(op, args, kwargs)], again)
            call.outer, call.by_torch = self._outer(node)
            call.event = self._event
            call.phase, call.node = phase, None if node is None else node.name()
            call.autocast = self._casting.format
            call.arguments = _arguments(op, args, kwargs)
            call.random = _seeded in func.tags and not _certain(call.arguments)
        elif node is not None and not again and not op.is_view:
            self._open = None
        if node is None or torch.is_grad_enabled():
            self.started.setdefault(torch._C._autograd._get_sequence_nr() - 1, len(self.calls))
        before = [Value(name, t).digest for name, t in targets] if call is not None else []
        entries = len(self.entries)
        result = super().__torch_dispatch__(func, types, args, kwargs)
        made: list[Tensor] = []
        flatten(result, made)
        for tensor in made:
            self._keep(tensor)
            if not op.is_view and not any(tensor is t for _, t in targets):
                self._own.add(storage_id(tensor))
        for _, tensor in targets:
            write = Write(len(self.calls), self.operators, op.name, place)
            self.writes.setdefault(storage_id(tensor), []).append(write)
        if op.name in COPYING:
            self._copied(args, targets, made)
        if call is not None:
            call.entry = entries if len(self.entries) > entries else None
            self._give(call, targets, before, made, node)
        return result

    def _where(self, node: Any) -> Any:
        return self._answer

    def _copied(self, args: Any, targets: list[Any], made: list[Tensor]) -> None:
        into, source = (targets[0][1], args[1]) if targets else (made[0], args[0])
        if isinstance(source, Tensor):
            self.copies[storage_id(into)] = storage_id(source)

    def _give(self, call: Call, targets: list[Any], before: list[Any], made: list[Tensor], node: Any) -> None:
        """What a call has given, and where it stands among the others."""
        for (name, tensor), old in zip(targets, before, strict=True):
            value = Value(name, tensor)
            if storage_id(tensor) in self._own:
                call.outputs.append(self._sampled(value, tensor))
            else:
                call.state.append((tensor, old, self._sampled(value, tensor)))
        known = {id(t) for _, t in targets}
        for i, tensor in enumerate(made):
            if id(tensor) not in known:
                call.outputs.append(self._sampled(Value(f"out{i or ''}", tensor), tensor))
        call.index = len(self.calls)
        if call.again:
            call.anchor = node._sequence_nr()
            if self._open is None or self._open.anchor != call.anchor:
                self.segments += 1
            call.segment = self.segments - 1
            self._open = call
        self.calls.append(call)

    def _sampled(self, value: Value, tensor: Tensor) -> Value:
        if self._kept < SAMPLES_MAX_BYTES:
            self._kept += value.keep(tensor)
        return value

    def _is_again(self, node: Any) -> bool:
        """A backward under `create_graph` records gradients too; only who has asked for it himself recomputes."""
        nodes = self._seen.nodes
        return node is not None and nodes is not None and node._sequence_nr() in nodes

    def _outer(self, node: Any) -> tuple[Any, bool]:
        """In forward: the line that called torch's checkpoint. In a recomputation by hand: the line of its backward. And whether
        it is torch's own checkpoint."""
        frame: Any = sys._getframe(2)
        last = caller = None
        checkpoint = False
        while frame is not None:
            code = frame.f_code
            if code is RUN_CODE or (code is BACKWARD_CODE and node is not None):
                break
            if is_user(code):
                last = (code, frame.f_lasti, frame.f_lineno)
                caller = caller or (last if checkpoint else None)
            elif code.co_filename.endswith("torch/utils/checkpoint.py"):
                checkpoint = True
            frame = frame.f_back
        if node is not None:
            return None if checkpoint else last, checkpoint
        return caller or (self._event.place if checkpoint and self._event is not None else None), checkpoint

    # ---- nothing is left behind

    def _protect(self, targets: list[tuple[str, Tensor]], kwargs: Any) -> None:
        for _, tensor in targets:
            key = storage_id(tensor)
            if key not in self._own and id(tensor) not in self._saved:
                versions = torch.autograd._unsafe_preserve_version_counter(tensor)  # type: ignore[attr-defined]
                versions.__enter__()
                self._saved[id(tensor)] = (tensor, tensor.detach().clone(), versions)
        generator = kwargs.get("generator")
        if generator is not None and id(generator) not in self._generators:
            self._generators[id(generator)] = (generator, generator.get_state())

    def _settle(self) -> None:
        """A backward pass is over: which tensors from outside did it leave other than forward did, having moved them?"""
        forward: dict[int, Value] = {}
        moved: dict[int, tuple[Call, Tensor]] = {}
        fresh: set[tuple[int, int]] = set()  # overwritten in this segment first: a scratch memory
        for call in self.calls:
            for tensor, old, new in call.state:
                key = id(tensor)
                if not call.again:
                    forward[key] = new
                elif call.overwrites:
                    fresh.add((call.segment, key))
                elif key in forward and old != new.digest and (call.segment, key) not in fresh:
                    moved.setdefault(key, (call, tensor))
        for key, (call, tensor) in moved.items():
            now = Value("", tensor)
            if tensor.is_floating_point() and now.digest != forward[key].digest:
                now.keep(tensor)
                self.settled.append((call, tensor, largest(forward[key], now)))


def _targets(op: Operator, args: Any, kwargs: Any) -> list[tuple[str, Tensor]]:
    """Tensors that an operator writes into."""
    if not op.writes and not op.silent:
        return []
    found: list[tuple[str, Tensor]] = []
    for name, write, value in op._pairs(args, kwargs):
        if write or name in op.silent:
            listed = value if isinstance(value, (tuple, list)) else [value]
            found += [(name, v) for v in listed if isinstance(v, Tensor)]
    return found


def _inputs(op: Operator, args: Any, kwargs: Any) -> list[tuple[str, Tensor]]:
    return [(name, t) for name, t in op.tensors(args, kwargs) if name not in op.silent]


def _arguments(op: Operator, args: Any, kwargs: Any) -> dict[str, str]:
    """Arguments that are numbers or words, those left at their default among them."""
    found = {a.name: str(a.default_value) for a in op.func._schema.arguments if isinstance(a.default_value, _TOLD)}
    for name, _, value in op._pairs(args, kwargs):
        if isinstance(value, _TOLD) or (type(value) is list and not any(isinstance(v, Tensor) for v in value)):
            found[name] = str(value)
    return found


def _certain(arguments: dict[str, str]) -> bool:
    """An operator that may draw random numbers, told to draw none."""
    return any(arguments.get(name) in ("0", "0.0") for name in ("p", "dropout_p", "dropout")) or (
        arguments.get("train") == "False"
    )
