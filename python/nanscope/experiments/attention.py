"""Scaled dot-product attention by one backend."""

from __future__ import annotations

import contextlib
from typing import Any

from torch.nn.attention import SDPBackend, sdpa_kernel

from nanscope.capture.event import Event
from nanscope.experiments.bench import Bench
from nanscope.experiments.change import Change


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: `backend`, a name of `SDPBackend`. One that does not take these shapes gives nothing."""
    found = bench.outcome(planned, Backend(planned["arguments"]["backend"]))
    return [] if found is None else [found]


class Backend(Change):
    """Only this backend may be chosen; a choice that the program makes itself stands."""

    def __init__(self, name: str) -> None:
        self.backend = getattr(SDPBackend, name)

    def around(self, event: Event) -> contextlib.AbstractContextManager[Any]:
        kernel: contextlib.AbstractContextManager[Any] = sdpa_kernel(self.backend)
        return kernel


def backends(devices: set[str]) -> list[str]:
    """Backends that torch has for these types of device, the plain one first."""
    cuda = ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"]
    fused = cuda if "cuda" in devices else ["FLASH_ATTENTION"] if devices == {"cpu"} else []
    return ["MATH", *(name for name in fused if hasattr(SDPBackend, name))]
