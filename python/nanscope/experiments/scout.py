"""What the plan needs to know besides the ledger, from one replay without observation of operators."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from nanscope.capture.event import Event
from nanscope.capture.recorder import flatten, storage_id
from nanscope.experiments.attention import backends
from nanscope.experiments.change import Change


class Scout(Change, TorchFunctionMode):
    """Formats of autocast in force, whether attention was called, the size of the batch."""

    def __init__(self, known: set[int]) -> None:
        super().__init__()
        self.known = known  # storages of parameters and buffers
        self.autocast: set[str] = set()
        self.attention = False
        self.devices: set[str] = set()
        self.sizes: Counter[int] = Counter()

    def idle(self) -> Change:
        return Change()

    @contextlib.contextmanager
    def around(self, event: Event) -> Iterator[None]:
        with self:
            yield

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for device in ("cuda", "cpu"):
            if torch.is_autocast_enabled(device):
                self.autocast.add(str(torch.get_autocast_dtype(device)).removeprefix("torch."))
        if func is torch.nn.functional.scaled_dot_product_attention:
            self.attention = True
            self.devices.add((args[0] if args else (kwargs or {})["query"]).device.type)
        return func(*args, **(kwargs or {}))

    def arguments(self, event: Event, args: Any, kwargs: Any) -> tuple[Any, Any]:
        if enters(event, args, kwargs):
            for tensor in rows(args, kwargs, self.known):
                # A model takes samples; a loss may also take what has other sizes.
                self.sizes[tensor.shape[0]] += 4 if event.kind == "module" else 1
        return args, kwargs

    def plain(self) -> dict[str, Any]:
        """`Scouted` of the plan."""
        found: dict[str, Any] = {"autocast": sorted(self.autocast), "attention": self.attention}
        if self.attention:
            found["backends"] = backends(self.devices)
        batch = self.batch()
        if batch is not None:
            found["batch"] = batch
        return found

    def batch(self) -> int | None:
        """Samples in the batch: the most common first size of what enters the model and the loss from outside."""
        return self.sizes.most_common(1)[0][0] if self.sizes else None


def enters(event: Event, args: Any, kwargs: Any) -> bool:
    """True for a call in which data meets what is trained; before it data is only prepared."""
    if event.kind not in ("module", "call", "function"):
        return False
    found: list[torch.Tensor] = []
    flatten((args, kwargs), found)
    return event.kind != "function" or any(t.requires_grad for t in found)


def rows(args: Any, kwargs: Any, known: set[int]) -> list[torch.Tensor]:
    """Tensors among the arguments that are neither trained nor made of what is, with more than one row."""
    found: list[torch.Tensor] = []
    flatten((args, kwargs), found)
    return [
        t
        for t in found
        if t.dim()
        and t.shape[0] > 1
        and not t.requires_grad
        and t.layout is torch.strided
        and storage_id(t) not in known
    ]
