"""The replay once more in float64, operator by operator beside the real one: where digits were lost, and how many.

Every storage that an operator has written has a shadow: the same numbers as they come out when everything since the start of
the replay is done in float64. Views need nothing, since a shadow has the layout of its storage; what has no shadow is equal to
the run. Control flow, masks and random numbers are those of the run. Nothing of the run is read or written by a shadow.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from nanscope.capture.recorder import storage_id
from nanscope.replay import births, values
from nanscope.replay.drift import NOTHING, Drifts, Told, compare
from nanscope.replay.memory import room
from nanscope.replay.operators import DOUBLE, REFUSED, Operator

Tensor = torch.Tensor
OPERATORS_MAX = 20_000
SECONDS_MAX = 60.0
SWEEP_BYTES = 16 << 20  # shadows added before the first look for storages that are gone
_NAMESPACES = ("aten", "prims")
_WIDE = {torch.complex32: torch.complex128, torch.complex64: torch.complex128, torch.complex128: torch.complex128}
_SEEDED = torch.Tag.nondeterministic_seeded


LARGE = "the float64 copies of its tensors do not fit into memory"


class TooLarge(Exception):
    """The float64 copies do not fit."""


class Prepared:
    """Arguments of one operator in float64, as they were before the real one ran."""

    __slots__ = ("args", "bytes", "ids", "inputs", "kwargs", "told")

    def __init__(self) -> None:
        self.args: Any = ()
        self.kwargs: Any = {}
        self.bytes = 0
        self.inputs: list[Tensor] = []  # as `Operator.tensors` lists the real ones
        self.ids: set[int] = set()  # storages of the arguments
        self.told: Told = NOTHING


EQUAL = Prepared()  # the operator is in float64 as it is, on what is equal to the run


class Shadows:
    """Float64 shadows of one replay. `alive` maps a storage to a weak reference to it, and keeps its identity from reuse."""

    def __init__(self, alive: dict[int, Any]) -> None:
        self.stopped: str | None = None  # why the rest of the step was not computed in float64
        self.operators = 0
        self.seconds = 0.0
        self.refused: Counter[str] = Counter()
        self._alive = alive
        self._flat: dict[int, Tensor] = {}  # storage -> its numbers in float64, in the layout of the storage
        self._drifts = Drifts()
        self._finite: dict[int, bool] = {}  # entry with bad outputs -> whether they are finite here
        self._unsure: set[int] = set()  # storages whose bad values are the run's, for want of better
        self._bytes = self._swept = 0
        self._limit: int | None = None

    # ---- around each operator

    def before(self, op: Operator, args: Any, kwargs: Any) -> Prepared | None:
        """What the operator needs in float64; `None` where nothing is to be done."""
        if self.stopped is not None:
            return None
        start = time.perf_counter()
        try:
            with below():
                return self._before(op, args, kwargs)
        except TooLarge:
            self._stop(LARGE)
        except REFUSED:
            self.refused[op.name] += 1
        finally:
            self.seconds += time.perf_counter() - start
        return None

    def _before(self, op: Operator, args: Any, kwargs: Any) -> Prepared | None:
        if _foreign(op) or (seeded(op) and op.base not in _BESIDE):
            return None
        read, targets = op.tensors(args, kwargs), [t for _, t in op.targets(args, kwargs)]
        keys = [storage_id(t) for _, t in read if t.is_floating_point() or t.is_complex()]
        if not op.narrow(args, kwargs) and all(map(_is_wide, [*targets, *(t for _, t in read)])):
            if not any(k in self._flat for k in (*keys, *map(storage_id, targets))):
                return EQUAL
        for tensor in targets:
            self._claim(tensor)
        ready = Prepared()
        wide = self._wide(ready)
        ready.args, ready.kwargs = mapped(args, wide), mapped(kwargs, wide)
        if op.default_dtype and ready.kwargs.get("dtype") is None:
            ready.kwargs["dtype"] = torch.float64
        if not targets:
            ready.inputs = [t for _, t in op.tensors(ready.args, ready.kwargs)]
        ready.told = self._drifts.of(keys)
        return ready

    def after(
        self,
        op: Operator,
        ready: Prepared | None,
        entry: dict[str, Any],
        read: list[tuple[str, Tensor]],
        written: list[tuple[str, Tensor]],
        result: Any,
    ) -> None:
        """Computes the shadow of what `op` has just written, and tells in `entry` how far apart the two are."""
        if self.stopped is not None:
            return
        start = time.perf_counter()
        try:
            with below():
                self._after(op, ready, entry, read, written, result)
        except TooLarge:
            self._stop(LARGE)
        except REFUSED as error:  # the replay must not fail on account of what only explains it
            self._stop(f"{op.name}: {type(error).__name__}: {error}")
        finally:
            self.seconds += time.perf_counter() - start
        if self.operators >= OPERATORS_MAX:
            self._stop(f"it has more than {OPERATORS_MAX} operators")
        elif self.seconds > SECONDS_MAX:
            self._stop(f"float64 took more than {SECONDS_MAX:.0f} s")

    def _after(
        self,
        op: Operator,
        ready: Prepared | None,
        entry: dict[str, Any],
        read: list[tuple[str, Tensor]],
        written: list[tuple[str, Tensor]],
        result: Any,
    ) -> None:
        if not written:
            return
        if ready is EQUAL:
            for _, tensor in written:
                self._forget(storage_id(tensor))
            if any(births.bad(arg) for arg in entry["outputs"]):
                self._judge(entry, False, read, written)
            return
        self.operators += 1
        made = None
        if _foreign(op):
            self.refused[op.name] += 1
            for _, tensor in read:  # its schema need not tell what it has written
                self._forget(storage_id(tensor))
        elif ready is not None:
            try:
                made = self._run(op, ready, result)
            except REFUSED:
                self.refused[op.name] += 1
        if ready is None or made is None or [t.shape for t in made] != [t.shape for _, t in written]:
            self._as_run(entry, written)
            return
        bad_out = any(births.bad(arg) for arg in entry["outputs"])
        finite = True
        for (_, tensor), shadow in zip(written, made, strict=True):
            found = compare(tensor, shadow)
            key = storage_id(tensor)
            if found is None:
                self._forget(key)
                continue
            finite = finite and not found.reference_bad
            in_place = shadow.untyped_storage()._cdata in ready.ids and key in self._flat
            if not in_place:
                if found.same:
                    self._forget(key)
                else:
                    self._keep(tensor, shadow, ready.ids)
            self._drifts.tell(entry, op.base, found, ready.told, tensor, shadow, read, ready.inputs)
        if bad_out:
            self._judge(entry, finite, read, written)

    def _judge(
        self, entry: dict[str, Any], finite: bool, read: list[tuple[str, Tensor]], written: list[tuple[str, Tensor]]
    ) -> None:
        """Whether float64 would have been finite where the run is not; silent where that was not seen."""
        if finite or not any(storage_id(t) in self._unsure for _, t in read):
            self._finite[entry["index"]] = finite
        else:
            self._unsure.update(storage_id(t) for _, t in written)

    def _run(self, op: Operator, ready: Prepared, result: Any) -> list[Tensor] | None:
        """What the operator writes in float64; `None` where integers gave a result of the default type."""
        beside = _BESIDE.get(op.base)
        if beside is not None:
            return beside(ready.args, ready.kwargs, result)
        made = op.results(ready.args, ready.kwargs, op.func(*ready.args, **ready.kwargs))
        return [t for _, t in made] if all(t.dtype in DOUBLE for _, t in made) else None

    def as_run(self, entry: dict[str, Any], written: list[tuple[str, Tensor]]) -> None:
        """A collective: what the others would have given in float64 is not known."""
        if self.stopped is None:
            self._as_run(entry, written)

    def _as_run(self, entry: dict[str, Any], written: list[tuple[str, Tensor]]) -> None:
        """The shadows of `written` are the run's own values from here on."""
        for (_, tensor), arg in zip(written, entry["outputs"], strict=True):
            key = storage_id(tensor)
            flat = self._flat.get(key)
            if flat is not None and self._fits(flat, tensor):
                self._view(flat, tensor).copy_(tensor)
            else:
                self._forget(key)
            self._drifts.forget(key)
            if births.bad(arg):
                self._unsure.add(key)

    def references(
        self,
        entry: dict[str, Any],
        read: list[tuple[str, Tensor]],
        written: list[tuple[str, Tensor]],
        in_place: bool,
    ) -> None:
        """Beside each value of `entry` that is told, what it is here."""
        shape = next((arg["shape"] for arg in entry["outputs"] if "index" in arg), None)
        if shape is None or self.stopped is not None:
            return
        index = next(arg["index"] for arg in entry["outputs"] if "index" in arg)
        pairs = [*zip(entry["outputs"], written, strict=False)]
        if not in_place:  # otherwise what it read is gone
            pairs += zip(entry["inputs"], read, strict=False)
        with contextlib.suppress(TooLarge, *REFUSED), below():
            for arg, (_, tensor) in pairs:
                if "value" in arg and (tensor.is_floating_point() or tensor.is_complex()):
                    found = values.at(self._of(tensor), index, shape)
                    if found is not None:
                        arg["reference"] = values.number(found[1])

    # ---- shadows

    def _wide(self, ready: Prepared) -> Callable[[Any], Any]:
        def wide(value: Any) -> Any:
            if isinstance(value, Tensor):
                shadow = self._of(value)
                if shadow.numel() * 8 + ready.bytes > self._room(value):
                    raise TooLarge
                ready.bytes += shadow.numel() * 8
                if shadow is not value:
                    ready.ids.add(storage_id(shadow))
                elif value.is_floating_point() or value.is_complex():
                    ready.ids.add(storage_id(value))
                return shadow
            if isinstance(value, torch.dtype):
                return torch.float64 if value.is_floating_point else _WIDE.get(value, value)
            return value

        return wide

    def _of(self, tensor: Tensor) -> Tensor:
        """`tensor` in float64: its shadow, or what the run has."""
        dtype = torch.float64 if tensor.is_floating_point() else _WIDE.get(tensor.dtype)
        if dtype is None:
            return tensor
        flat = self._flat.get(storage_id(tensor))
        if flat is not None and self._fits(flat, tensor):
            return self._view(flat, tensor)
        if tensor.dtype is dtype:
            return tensor
        if tensor.numel() * 8 > self._room(tensor):
            raise TooLarge
        return tensor.to(dtype)

    def _fits(self, flat: Tensor, tensor: Tensor) -> bool:
        """False for memory that is seen in another type than it was written in."""
        return (
            tensor.is_complex() == flat.is_complex()
            and tensor.layout is torch.strided
            and tensor.untyped_storage().nbytes() == flat.numel() * tensor.element_size()
        )

    @staticmethod
    def _view(flat: Tensor, tensor: Tensor) -> Tensor:
        view = flat.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
        if tensor.is_conj():
            view = view.conj()
        return view.neg() if tensor.is_neg() else view

    def _claim(self, tensor: Tensor) -> None:
        """A shadow for a storage that is about to be written in place."""
        key = storage_id(tensor)
        if key < 0 or tensor.layout is not torch.strided:
            return
        flat = self._flat.get(key)
        if flat is not None and self._fits(flat, tensor):
            return
        dtype = _WIDE.get(tensor.dtype, torch.float64)
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
        if count * 8 > self._room(tensor):
            raise TooLarge
        self._put(key, tensor.as_strided((count,), (1,), 0).to(dtype, copy=True))

    def _keep(self, tensor: Tensor, shadow: Tensor, ids: set[int]) -> None:
        """Makes `shadow` that of a storage that `tensor` is the first to write."""
        key = storage_id(tensor)
        if key < 0 or tensor.layout is not torch.strided or shadow.layout is not torch.strided:
            return
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
        alike = (
            shadow.stride() == tensor.stride()
            and shadow.storage_offset() == 0 == tensor.storage_offset()
            and shadow.untyped_storage().nbytes() == count * shadow.element_size()
            and storage_id(shadow) not in ids
        )
        if not alike:
            flat = shadow.new_zeros(count)
            flat.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).copy_(shadow)
            shadow = flat
        self._put(key, shadow.as_strided((count,), (1,), 0))

    def _put(self, key: int, flat: Tensor) -> None:
        self._forget(key)
        self._flat[key] = flat
        size = flat.numel() * flat.element_size()
        self._bytes += size
        self._swept += size
        full = self._bytes > self._room(flat)
        if full or self._swept > max(SWEEP_BYTES, self._bytes // 2):
            self._sweep()
        if full and self._bytes > self._room(flat):
            raise TooLarge

    def _forget(self, key: int) -> None:
        flat = self._flat.pop(key, None)
        if flat is not None:
            self._bytes -= flat.numel() * flat.element_size()
        self._unsure.discard(key)

    def _sweep(self) -> None:
        """Lets go of the shadows of storages whose memory is free. Costs one call per shadow."""
        self._swept = 0
        for key in list(self._flat):
            weak = self._alive.get(key)
            if weak is not None and weak.expired():
                self._forget(key)
                self._drifts.forget(key)

    def _room(self, tensor: Tensor) -> int:
        """Bytes that all shadows together may take."""
        if self._limit is None:
            self._limit = room(tensor.device)
        return self._limit

    def exponents(self, tensor: Tensor) -> list[tuple[int, int]]:
        """`(floor(log2 |x|), count)` of the numbers of `tensor` as they are here, zeros left out; empty once stopped."""
        if self.stopped is not None:
            return []
        with contextlib.suppress(TooLarge, *REFUSED), below():
            found = values.census(self._of(tensor))
            return [] if found is None else [(e, n) for e, n in found.get("exponents", ())]
        return []

    def restored(self, tensors: Any) -> None:
        """These were put back to what they were in the run."""
        for tensor in tensors:
            key = storage_id(tensor)
            self._forget(key)
            self._drifts.forget(key)

    # ---- in the end

    def _stop(self, why: str) -> None:
        self.stopped = f"the step was not computed in float64 beyond its first {self.operators} operators: {why}"
        self._flat.clear()
        self._bytes = 0

    def whole(self, trip_entry: int | None) -> dict[str, Any]:
        """What the ledger says of the float64 replay as a whole."""
        found: dict[str, Any] = {"operators": self.operators, "seconds": self.seconds}
        if trip_entry in self._finite:
            found["finite"] = self._finite[trip_entry]
        if self.refused:
            found["skipped"] = sum(self.refused.values())
            found["skipped_ops"] = [name for name, _ in self.refused.most_common(5)]
        return found


def seeded(op: Operator) -> bool:
    """True for an operator that draws random numbers, which a shadow takes from the run."""
    return _SEEDED in getattr(op.func, "tags", ())


def _dropout(args: Any, kwargs: Any, result: Any) -> list[Tensor]:
    """The same elements are dropped; only the first result is floating."""
    x, p = args[0], args[1]
    return [x * result[1] * (0.0 if p == 1.0 else 1.0 / (1.0 - p))]


def _unscale(args: Any, kwargs: Any, result: Any) -> list[Tensor]:
    grads, found_inf, inverse = args
    for grad in grads:
        grad.mul_(inverse)
    return [*grads, found_inf]


# Operators whose float64 form must be spelled out: their kernels refuse float64 or draw random numbers.
_BESIDE: dict[str, Callable[[Any, Any, Any], list[Tensor]]] = {
    "native_dropout": _dropout,
    "_fused_dropout": _dropout,
    "_amp_foreach_non_finite_check_and_unscale_": _unscale,
}


def _foreign(op: Operator) -> bool:
    """True for an operator that is not torch's own: what else it does is not known."""
    return getattr(op.func, "namespace", "") not in _NAMESPACES


def _is_wide(tensor: Tensor) -> bool:
    return tensor.dtype in DOUBLE or not (tensor.is_floating_point() or tensor.is_complex())


@contextlib.contextmanager
def below() -> Iterator[None]:
    """Below autograd and autocast: no graph is made, no type is chosen."""
    with torch._C._AutoDispatchBelowAutograd(), torch._C._DisableAutocast():
        yield


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with `change` made to everything in nested tuples, lists and dicts."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([mapped(v, change) for v in value])
    if kind is dict:
        return {k: mapped(v, change) for k, v in value.items()}
    return change(value)
