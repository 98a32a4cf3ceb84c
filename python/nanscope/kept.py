"""What is kept for backward beside what backward gets: compared while the program runs, in the steps that are to be checked.

Under `torch.utils.checkpoint` both are there for a moment: torch itself looks at shape and type of every tensor that forward and
recomputation save. Under saved-tensor hooks, what is packed and what is unpacked.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from nanscope._core import caller
from nanscope.replay.sample import Value, apart, parted

HOME = "torch.utils.checkpoint"
LOSSY = 0.5  # relative error below which hooks may mean to compress

_node = torch._C._current_autograd_node


class Pair:
    """One tensor as it was kept, as backward got it, and the line that had it kept. Of saved-tensor hooks: `node` names who
    reads it; it was packed and found other when so many operators had run."""

    __slots__ = ("found", "node", "now", "packed", "place", "was")

    def __init__(
        self, was: Value, now: Value, place: Any, node: str | None = None, packed: int = 0, found: int = 0
    ) -> None:
        self.was, self.now, self.place = was, now, place
        self.node, self.packed, self.found = node, packed, found


class Kept:
    """The comparisons of one step. `due` says whether the running step is to be checked, `used` is told where something is."""

    def __init__(self, due: Callable[[], bool], used: Callable[[], None]) -> None:
        self.due = due
        self.used = used
        self.operators: Callable[[], int] = lambda: 0  # that a replay has run so far
        self._checks: dict[str, Any] | None = None  # what torch compares of a saved tensor, by name; put aside while on
        self.compared = 0
        self.recomputed: list[Pair] = []  # those that differ
        self.hooks: dict[Any, list[Pair]] = {}  # code of a hook that packs -> all that went through it
        self._reader = -1  # sequence number of the node that is being given what it needs
        self._given: list[tuple[Any, Packed, Value]] = []  # what it has so far

    def clear(self) -> None:
        self.operators = lambda: 0
        self.compared = 0
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

    def both(self, was: Value, now: Value, place: Any) -> None:
        """One tensor of forward and of recomputation."""
        self.compared += 1
        if parted(was, now, False):
            self.recomputed.append(Pair(was, now, place))

    def unpacked(self, packed: Packed, tensor: Any) -> None:
        """A node of backward gets what was packed; and what it got before, it must still have."""
        node = _node()
        key = -1 if node is None else node._sequence_nr()
        if self._reader != key:
            self._reader, self._given = key, []
        for reference, other, was in self._given:
            held = reference()
            if held is not None and (now := _taken(held)).digest != was.digest:
                self._add(other, now, node)
        if not isinstance(tensor, torch.Tensor):
            return
        now = _taken(tensor)
        self._add(packed, now, node)
        self._given.append((weakref.ref(tensor), packed, now))

    def _add(self, packed: Packed, now: Value, node: Any) -> None:
        pairs = self.hooks.setdefault(packed.hooks, [])
        name = None if node is None else node.name()
        pairs.append(Pair(packed.value, now, packed.place, name, packed.operators, self.operators()))

    def parted(self) -> list[Pair]:
        """All that differs."""
        return self.recomputed + self.broken()

    def broken(self) -> list[Pair]:
        """What came out of saved-tensor hooks other than it went in: by more than a compression explains, or from hooks that
        give back the most exactly."""
        found: list[Pair] = []
        for pairs in self.hooks.values():
            exact = sum(pair.was.digest == pair.now.digest for pair in pairs)
            other = [pair for pair in pairs if parted(pair.was, pair.now, False)]
            found += other if exact > len(other) else [pair for pair in other if apart(pair.was, pair.now) > LOSSY]
        return found


def _taken(tensor: torch.Tensor) -> Value:
    """`tensor` as it is; nobody who watches operators sees it being read."""
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        value = Value("", tensor)
        value.keep(tensor)
    return value


class Packed:
    """What hooks have packed, and what it was before."""

    __slots__ = ("content", "hooks", "operators", "place", "value")

    def __init__(self, content: Any, value: Value, hooks: Any, operators: int) -> None:
        self.content, self.value, self.hooks, self.operators = content, value, hooks, operators
        self.place = caller()


class Sealed:
    """What torch compares of a saved tensor, and a digest of its values."""

    __slots__ = ("kept", "meta", "place", "reference", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, kept: Kept, meta: Any, tensor: torch.Tensor) -> None:
        self.kept, self.meta = kept, meta
        self.reference = weakref.ref(tensor)
        self.value = _taken(tensor)
        self.place = caller()

    def __ne__(self, other: object) -> bool:
        """Torch asks this of forward's, with that of the recomputation."""
        if not isinstance(other, Sealed):
            return bool(self.meta != other)
        held = self.reference()
        if held is None or held is not other.reference():  # a buffer is saved as it is, and may have moved on
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
        values = [_taken(tensor) for tensor in made]
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

    def apply(kind: Any, function: Any, preserve: Any, *args: Any) -> Any:
        if kept.due():
            function = Repeated(kept, function)
        return super(cls, kind).apply(function, preserve, *args)

    cls.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
    undo.append(functools.partial(delattr, cls, "apply"))

    def uninstall() -> None:
        for step in undo:
            step()

    return uninstall


def _sealing(kept: Kept, extract: Any) -> Any:
    @functools.wraps(extract)
    def sealed(tensor: torch.Tensor) -> Any:
        meta = extract(tensor)
        return Sealed(kept, meta, tensor) if kept.due() else meta

    return sealed


def _install_hooks(kept: Kept) -> Callable[[], None]:
    enter = saved_tensors_hooks.__enter__

    @functools.wraps(enter)
    def __enter__(self: Any) -> None:
        if type(self).__module__ == HOME or not kept.due() or hasattr(self.pack_hook, "__wrapped__"):
            return enter(self)
        pack, unpack = self.pack_hook, self.unpack_hook
        self.pack_hook, self.unpack_hook = _compared(kept, pack, unpack)
        try:
            return enter(self)
        finally:
            self.pack_hook, self.unpack_hook = pack, unpack

    saved_tensors_hooks.__enter__ = __enter__  # type: ignore[method-assign]

    def uninstall() -> None:
        saved_tensors_hooks.__enter__ = enter  # type: ignore[method-assign]

    return uninstall


def _compared(kept: Kept, pack: Any, unpack: Any) -> tuple[Any, Any]:
    """The same hooks, and what they give compared with what they were given."""
    code = getattr(pack, "__code__", type(pack))

    @functools.wraps(pack)
    def packing(tensor: torch.Tensor) -> Any:
        value = _taken(tensor)
        content = pack(tensor)
        return Packed(content, value, code, kept.operators())

    @functools.wraps(unpack)
    def unpacking(packed: Packed) -> Any:
        kept.used()
        tensor = unpack(packed.content)
        kept.unpacked(packed, tensor)
        return tensor

    return packing, unpacking
