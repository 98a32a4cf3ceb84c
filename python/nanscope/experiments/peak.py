"""Peak memory of a replay: bytes of the storages that its operators have made and that are alive at the same time.

On a CUDA device the allocator counts. On a CPU no allocator does, so every new storage is counted when an operator returns it
and again when it is freed; memory that a kernel takes and gives back within one call is not seen, nor are parameters and
inputs, which were there before. Costs a call of Python per operator: never done in a replay that is timed.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nanscope.capture.recorder import flatten


class Peak(TorchDispatchMode):
    """`bytes` is the peak so far."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0
        self._live: dict[int, int] = {}  # storage -> its bytes
        self._now = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        found: list[torch.Tensor] = []
        flatten(result, found)
        for tensor in found:
            if tensor.layout is torch.strided and not tensor.is_meta:
                self._count(tensor)
        return result

    def _count(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._live:
            return
        size = self._live[key] = storage.nbytes()
        self._now += size
        self.bytes = max(self.bytes, self._now)
        weakref.finalize(storage, self._free, key).atexit = False

    def _free(self, key: int) -> None:
        self._now -= self._live.pop(key, 0)


def devices(parameters: list[torch.Tensor]) -> set[torch.device]:
    """The CUDA devices that the step is on; none where storages have to be counted one by one."""
    return {p.device for p in parameters if p.device.type == "cuda"}


@contextlib.contextmanager
def allocated(peak: Peak, on: set[torch.device]) -> Iterator[None]:
    """The allocator's own count, of the whole block; what was there before is not part of it."""
    before = {device: torch.cuda.memory_allocated(device) for device in on}
    for device in on:
        torch.cuda.reset_peak_memory_stats(device)
    yield
    peak.bytes = sum(torch.cuda.max_memory_allocated(device) - before[device] for device in on)
