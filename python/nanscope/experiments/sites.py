"""Which line and which module of the program an operator of a replay belongs to; a backward operator belongs to those of its
forward operator."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import torch

from nanscope.capture.event import Event
from nanscope.capture.lines import is_user
from nanscope.replay.places import place
from nanscope.replay.running import running
from nanscope.replay.tracer import BACKWARD_CODE, RUN_CODE

CALL_CODE = torch.nn.Module._call_impl.__code__


class Site(NamedTuple):
    """`module` is the innermost running module; `own` says that the line lies in its own code, not in that of a caller."""

    module: torch.nn.Module | None
    code: CodeType | None
    instruction: int
    line: int
    own: bool


NOWHERE = Site(None, None, -1, 0, False)


class Sites:
    """Asked once per operator, from inside a dispatch mode. Costs a walk up the stack."""

    def __init__(self) -> None:
        self.modules: list[torch.nn.Module] = []
        self.event: Event | None = None
        self._forward: dict[int, Site] = {}  # sequence number of a backward node -> site of its forward operator

    def watching(self) -> contextlib.AbstractContextManager[None]:
        """Keeps the stack of running modules. `event` is to be set before each event."""
        return running(self.modules)

    def of(self, node: Any) -> Site:
        """The site of the operator that is being dispatched, for the backward node that is running, if one is."""
        frame: Any = sys._getframe(2)
        module = self.modules[-1] if self.modules else None
        own = True
        while frame is not None:
            code = frame.f_code
            if code is RUN_CODE or (code is BACKWARD_CODE and node is not None):
                break
            if is_user(code):
                return Site(module, code, frame.f_lasti, frame.f_lineno, own)
            if code is CALL_CODE:
                own = False
            frame = frame.f_back
        if node is not None and module is None:
            return self._forward.get(node._sequence_nr(), NOWHERE)
        if self.event is not None and self.event.place is not None:
            code, instruction, line = self.event.place
            return Site(module, code, instruction, line, own)
        return Site(module, None, -1, 0, own)

    def note(self, node: Any, site: Site) -> None:
        """To be called after the operator: the first one after a node was made is the one that the node belongs to."""
        if node is None or torch.is_grad_enabled():
            self._forward.setdefault(torch._C._autograd._get_sequence_nr() - 1, site)


def statement(base: str) -> Callable[[Site], tuple[str, int, int] | None]:
    """A function from a site to file (relative to `base`), first and last line of its statement; each looked up once."""
    known: dict[tuple[CodeType, int], tuple[str, int, int] | None] = {}

    def of(site: Site) -> tuple[str, int, int] | None:
        if site.code is None:
            return None
        key = (site.code, site.line)
        if key not in known:
            found = place(site.code, site.instruction, site.line, base)
            first, last = found.get("lines", (found["line"], found["line"]))
            known[key] = (found["file"], first, last)
        return known[key]

    return of
