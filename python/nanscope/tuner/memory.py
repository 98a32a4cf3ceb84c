"""Memory of a replay: every storage that an operator makes, from then until it is freed."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from nanscope.capture.recorder import flatten
from nanscope.experiments.peak import Peak


class Storages(Peak):
    """`bytes` is the peak so far. What an operator returns in the memory of an argument is not made by it."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self.closed:
            return result
        made: list[torch.Tensor] = []
        flatten(result, made)
        if not made:
            return result
        given: list[torch.Tensor] = []
        flatten((args, kwargs), given)
        there = {t.untyped_storage()._cdata for t in given if countable(t)}
        for tensor in made:
            if countable(tensor) and tensor.untyped_storage()._cdata not in there:
                self._count(tensor)
        return result


class Timeline(Storages):
    """A replay without checkpointing, as the simulation of every choice needs it: `nanscope_tune::Trace`.

    What autograd keeps is kept as a copy that is not counted, so that the end of the original is the program's own doing, and the
    end of the copy that of backward. Takes up to twice the memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ticks = 0
        self.storages: list[dict[str, Any]] = []
        self.holders: list[dict[str, Any]] = []
        self.regions: list[dict[str, Any]] = []
        self._index: dict[int, dict[str, Any]] = {}  # storage -> its entry
        self._copies: weakref.WeakValueDictionary[tuple[int, int], Any] = weakref.WeakValueDictionary()
        self._copying = False

    def tick(self) -> int:
        """The present moment; no two events have the same."""
        self.ticks += 1
        return self.ticks - 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._copying:
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)

    def _count(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._live:
            super()._count(tensor)
            entry = {"bytes": storage.nbytes(), "born": self.tick(), "at": len(self.storages)}
            self._index[storage._cdata] = entry
            self.storages.append(entry)

    def _free(self, key: int) -> None:
        entry = self._index.pop(key, None)
        if entry is not None and not self.closed:
            entry["died"] = self.tick()
        super()._free(key)

    # ---- what autograd keeps

    def kept(self) -> Any:
        """Has autograd keep copies."""
        return torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, tensor: torch.Tensor) -> Saved:
        holder: dict[str, Any] = {"packed": self.tick()}
        entry = self._index.get(tensor.untyped_storage()._cdata) if countable(tensor) else None
        plain = type(tensor) is torch.Tensor and not tensor.is_conj() and not tensor.is_neg()
        if entry is not None and plain:
            holder["storage"] = entry["at"]
            tensor = self._copy(tensor, (entry["at"], tensor._version))
        self.holders.append(holder)
        saved = Saved(tensor, holder)
        weakref.finalize(saved, self._released, holder).atexit = False
        return saved

    def _unpack(self, saved: Saved) -> torch.Tensor:
        if not self.closed:
            saved.holder.setdefault("unpacked", self.tick())
        return saved.tensor

    def _released(self, holder: dict[str, Any]) -> None:
        if not self.closed:
            holder["released"] = self.tick()

    def _copy(self, tensor: torch.Tensor, key: tuple[int, int]) -> torch.Tensor:
        """The same values in memory of their own; tensors that share memory, and so `key`, share that of their copies."""
        storage = tensor.untyped_storage()
        self._copying = True
        try:
            with torch.no_grad():
                copy = self._copies.get(key)
                if copy is None:
                    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
                    copy = self._copies[key] = whole.clone().untyped_storage()
                empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
                return empty.set_(copy, tensor.storage_offset(), tensor.size(), tensor.stride())
        finally:
            self._copying = False

    # ---- calls that may be run again

    def begin(self, arguments: Any, block: int | None) -> dict[str, Any]:
        """A region begins: the call of a block, or of what the program itself checkpoints."""
        given: list[torch.Tensor] = []
        flatten(arguments, given)
        known = [self._index.get(t.untyped_storage()._cdata) for t in given if countable(t)]
        region: dict[str, Any] = {"begin": self.tick(), "inputs": sorted({e["at"] for e in known if e is not None})}
        if block is not None:
            region["block"] = block
        self.regions.append(region)
        return region

    def end(self, region: dict[str, Any]) -> None:
        """A region has ended."""
        region["end"] = self.tick()


class Saved:
    """What autograd holds instead of a tensor."""

    __slots__ = ("__weakref__", "holder", "tensor")

    def __init__(self, tensor: torch.Tensor, holder: dict[str, Any]) -> None:
        self.tensor = tensor
        self.holder = holder


def countable(tensor: torch.Tensor) -> bool:
    """Whether the tensor lies in memory of its own kind: sparse tensors, fakes and wrappers do not."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return False
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) or not hasattr(tensor, "__tensor_flatten__")
