"""What is kept for backward beside what backward gets: compared while the program runs, in the steps that are to be checked.

Under `torch.utils.checkpoint` both are there for a moment: torch itself looks at shape and type of every tensor that forward and
recomputation save. Under saved-tensor hooks, what is packed and what is unpacked.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from nanscope._core import caller
from nanscope.capture.recorder import flatten
from nanscope.replay.sample import Value, apart, parted

HOME = "torch.utils.checkpoint"
OURS = "__nanscope_compares__"
SAMPLES_MAX_BYTES = 256 << 20
LOSSY = 0.5  # relative error below which hooks may mean to compress

_node = torch._C._current_autograd_node


class Pair:
    """One tensor as it was kept, as backward got it, and the line that had it kept. Of saved-tensor hooks: `node` names who
    reads it; it was packed and found other when so many operators had run. `meant`: what was packed is untouched, so that a
    difference is the hooks' own (`None` where that cannot be seen)."""

    __slots__ = ("found", "meant", "node", "now", "packed", "place", "was")

    def __init__(
        self, was: Value, now: Value, place: Any, node: str | None = None, packed: int = 0, found: int = 0,
        meant: bool | None = None,
    ) -> None:  # fmt: skip
        self.was, self.now, self.place = was, now, place
        self.node, self.packed, self.found, self.meant = node, packed, found, meant


class Kept:
    """The comparisons of one step. `due` says whether the running step is to be checked, `used` is told where something is,
    `failed` why something could not be."""

    def __init__(self, due: Callable[[], bool], used: Callable[[], None], failed: Callable[[Exception], None]) -> None:
        self.due = due
        self.used = used
        self.failed = failed
        self._bytes = 0  # of samples
        self.operators: Callable[[], int] = lambda: 0  # that a replay has run so far
        self._checks: dict[str, Any] | None = None  # what torch compares of a saved tensor, by name; put aside while on
        self.compared = 0
        self.recomputed: list[Pair] = []  # those that differ
        self.hooks: dict[Any, list[Pair]] = {}  # code of a hook that packs -> all that went through it
        self._reader = -1  # sequence number of the node that is being given what it needs
        self._given: list[tuple[Any, Packed, Value]] = []  # what it has so far

    def clear(self) -> None:
        self.operators = lambda: 0
        self.compared = self._bytes = 0
        self.recomputed.clear()
        self.hooks.clear()
        self._reader, self._given = -1, []

    def turn(self, on: bool) -> None:
        """What torch compares of the tensors that a block saves is looked at from here on, or no longer."""
        from torch.utils import checkpoint as home

        table: dict[str, Any] = getattr(home, "_allowed_determinism_checks_to_fns", {})
        if on and self._checks is None:
            self._checks = dict(table)
            table.update({name: _sealing(self, extract) for name, extract in table.items()})
        elif not on and self._checks is not None:
            table.update(self._checks)
            self._checks = None

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """What fails in here is ours, and must not become the program's."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self.failed(error)

    def both(self, was: Value, now: Value, place: Any) -> None:
        """One tensor of forward and of recomputation."""
        with unseen():
            self.compared += 1
            if parted(was, now, False):
                self.recomputed.append(Pair(was, now, place))

    def taken(self, tensor: torch.Tensor) -> Value:
        """`tensor` as it is."""
        with unseen():
            value = Value("", tensor)
            if self._bytes < SAMPLES_MAX_BYTES:
                self._bytes += value.keep(tensor)
        return value

    def unpacked(self, packed: Packed, tensor: Any) -> None:
        """A node of backward gets what was packed; and what it got before, it must still have."""
        node = _node()
        key = -1 if node is None else node._sequence_nr()
        if self._reader != key:
            self._reader, self._given = key, []
        for reference, other, was in self._given:
            held = reference()
            if held is not None and (now := self.taken(held)).digest != was.digest:
                self._add(other, now, node, False)
        if not isinstance(tensor, torch.Tensor):
            return
        now = self.taken(tensor)
        self._add(packed, now, node, packed.untouched())
        self._given.append((weakref.ref(tensor), packed, now))

    def _add(self, packed: Packed, now: Value, node: Any, meant: bool | None) -> None:
        pairs = self.hooks.setdefault(packed.hooks, [])
        name = None if node is None else node.name()
        pairs.append(Pair(packed.value, now, packed.place, name, packed.operators, self.operators(), meant))

    def parted(self) -> list[Pair]:
        """All that differs."""
        return self.recomputed + self.broken()

    def broken(self) -> list[Pair]:
        """What came out of saved-tensor hooks other than it went in. A compression that leaves what it packed untouched is meant;
        where that cannot be seen, one by hooks that give back the most exactly is not."""
        found: list[Pair] = []
        with unseen():
            for pairs in self.hooks.values():
                exact = sum(pair.was.digest == pair.now.digest for pair in pairs)
                other = [pair for pair in pairs if parted(pair.was, pair.now, False)]
                rather = exact > len(other)
                found += [
                    pair
                    for pair in other
                    if pair.meant is False or (pair.meant is None and rather) or apart(pair.was, pair.now) > LOSSY
                ]
        return found


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Nobody who watches operators sees what is done inside."""
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        yield


class Packed:
    """What hooks have packed, and what it was before."""

    __slots__ = ("content", "hooks", "operators", "parts", "place", "value")

    def __init__(self, content: Any, value: Value, hooks: Any, operators: int) -> None:
        self.content, self.value, self.hooks, self.operators = content, value, hooks, operators
        self.place = caller()
        found: list[torch.Tensor] = []
        flatten(content, found)
        with unseen():
            self.parts = [(tensor, Value("", tensor).digest) for tensor in found]

    def untouched(self) -> bool | None:
        """Whether the tensors that were packed hold what they held; `None` where there are none to be seen."""
        with unseen():
            return all(Value("", tensor).digest == digest for tensor, digest in self.parts) if self.parts else None


class Sealed:
    """What torch compares of a saved tensor, and a digest of its values."""

    __slots__ = ("kept", "meta", "place", "reference", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, kept: Kept, meta: Any, tensor: torch.Tensor) -> None:
        self.kept, self.meta = kept, meta
        self.reference = weakref.ref(tensor)
        self.value = kept.taken(tensor)
        self.place = caller()

    def __ne__(self, other: object) -> bool:
        """Torch asks this of forward's, with that of the recomputation."""
        if not isinstance(other, Sealed):
            return bool(self.meta != other)
        held = self.reference()
        if held is None or held is not other.reference():  # a buffer is saved as it is, and may have moved on
            with self.kept.guarded():
                self.kept.both(self.value, other.value, self.place)
        return bool(self.meta != other.meta)

    def __eq__(self, other: object) -> bool:
        return not self != other

    def __repr__(self) -> str:
        return repr(self.meta)


class Repeated:
    """The function of a reentrant checkpoint, which runs twice."""

    def __init__(self, kept: Kept, function: Any) -> None:
        self.kept, self.function = kept, function
        self.values: list[Value] | None = None
        self.place = caller()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.function(*args, **kwargs)
        made = [t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, torch.Tensor)]
        with self.kept.guarded():
            values = [self.kept.taken(tensor) for tensor in made]
            if self.values is None:
                self.values = values
            else:
                for was, now in zip(self.values, values, strict=False):
                    self.kept.both(was, now, self.place)
        return result


def install(kept: Kept) -> Callable[[], None]:
    """Patches the reentrant function of `torch.utils.checkpoint` and `saved_tensors_hooks`; `kept.turn` does the rest."""
    from torch.utils import checkpoint as home

    undo: list[Callable[[], None]] = [_install_hooks(kept), functools.partial(kept.turn, False)]
    kept.turn(kept.due())
    cls = home.CheckpointFunction
    before = cls.__dict__.get("apply")

    def apply(kind: Any, function: Any, preserve: Any, *args: Any) -> Any:
        if kept.due():
            function = Repeated(kept, function)
        original = super(cls, kind).apply if before is None else before.__get__(None, kind)
        return original(function, preserve, *args)

    cls.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
    undo.append(functools.partial(delattr, cls, "apply") if before is None else lambda: setattr(cls, "apply", before))

    def uninstall() -> None:
        for step in undo:
            step()

    return uninstall


def _sealing(kept: Kept, extract: Any) -> Any:
    @functools.wraps(extract)
    def sealed(tensor: torch.Tensor) -> Any:
        meta = extract(tensor)
        with kept.guarded():
            if kept.due():
                return Sealed(kept, meta, tensor)
        return meta

    return sealed


def _install_hooks(kept: Kept) -> Callable[[], None]:
    enter = saved_tensors_hooks.__enter__

    @functools.wraps(enter)
    def __enter__(self: Any) -> None:
        if type(self).__module__ != HOME and kept.due() and not hasattr(self.pack_hook, OURS):
            self = saved_tensors_hooks(*_compared(kept, self.pack_hook, self.unpack_hook))
        return enter(self)

    saved_tensors_hooks.__enter__ = __enter__  # type: ignore[method-assign]

    def uninstall() -> None:
        saved_tensors_hooks.__enter__ = enter  # type: ignore[method-assign]

    return uninstall


def _compared(kept: Kept, pack: Any, unpack: Any) -> tuple[Any, Any]:
    """The same hooks, and what they give compared with what they were given."""
    code = getattr(pack, "__code__", type(pack))

    @functools.wraps(pack)
    def packing(tensor: torch.Tensor) -> Any:
        value = None
        with kept.guarded():
            value = kept.taken(tensor) if kept.due() else None
        content = pack(tensor)
        with kept.guarded():
            if value is not None:
                return Packed(content, value, code, kept.operators())
        return content

    @functools.wraps(unpack)
    def unpacking(packed: Any) -> Any:
        if not isinstance(packed, Packed):
            return unpack(packed)
        tensor = unpack(packed.content)
        with kept.guarded():
            if kept.due():
                kept.used()
                kept.unpacked(packed, tensor)
        return tensor

    setattr(packing, OURS, True)
    return packing, unpacking
