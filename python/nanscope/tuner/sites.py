"""Where the program calls its blocks."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch

from nanscope.capture.lines import is_user
from nanscope.replay.places import place
from nanscope.tuner.checkpoints import calls

DIRECT, CHECKPOINTED, SEQUENTIAL, HIDDEN = "direct", "checkpointed", "sequential", "hidden"


@dataclass(frozen=True)
class Site:
    """One call of the program that leads to a block. `how` is `direct` (the block itself is called), `checkpointed` (through
    torch's checkpoint), `sequential` (its container is called) or `hidden` (something else in between)."""

    place: dict[str, Any]
    how: str

    @property
    def key(self) -> tuple[Any, ...]:
        """What two blocks that are called by the same call have in common."""
        return self.place["file"], self.place["line"], tuple(self.place.get("columns", ())), self.how


class Sites:
    """`found[i]` are the sites of block `i`, in the order of their calls, each once; to be filled by a replay inside `whole()`."""

    def __init__(self, blocks: list[torch.nn.Module], base: str) -> None:
        self._index = {id(block): at for at, block in enumerate(blocks)}
        self._base = base
        self.found: list[list[Site]] = [[] for _ in blocks]

    def whole(self) -> Any:
        """In force around the replay."""
        return calls(self._called)

    def _called(self, module: Any, original: Any, args: Any, kwargs: Any) -> Any:
        at = self._index.get(id(module))
        if at is not None and torch._C._current_autograd_node() is None:
            site = self._site()
            # Without gradients only torch's older checkpoint calls what it will run again.
            seen = site is not None and (torch.is_grad_enabled() or site.how == CHECKPOINTED)
            if site is not None and seen and site not in self.found[at]:
                self.found[at].append(site)
        return original(module, *args, **kwargs)

    def _site(self) -> Site | None:
        between: list[str] = []
        frame: Any = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if is_user(code):
                how = DIRECT if not between else between[0] if len(between) == 1 else HIDDEN
                return Site(place(code, frame.f_lasti, frame.f_lineno, self._base), how)
            step = _step(code)
            if step is not None:
                between.append(step)
            frame = frame.f_back
        return None


def _step(code: CodeType) -> str | None:
    """What a frame of torch between the program and its block does; `None` for what only passes the call on."""
    file, name = code.co_filename, code.co_name
    if file.endswith("torch/utils/checkpoint.py"):
        return {"checkpoint": CHECKPOINTED, "checkpoint_sequential": HIDDEN}.get(name)
    if "torch/nn/modules/" in file and not name.startswith("_") and name != "inner":
        return SEQUENTIAL if code.co_qualname == "Sequential.forward" else HIDDEN
    return None
