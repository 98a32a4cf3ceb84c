"""What a fix is, and the list of all."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from nanscope.outcomes import Text, text

if TYPE_CHECKING:
    from nanscope.fixes.site import Site
    from nanscope.fixes.source import Edit, Source

Edits = "list[tuple[Source, Edit]]"


class Safety(Enum):
    """How far a fix may be trusted. There is no default."""

    SAFE = "safe"  # no healthy step changes
    CHANGES_TRAINING = "changes-training"  # healthy steps change: the user decides


@dataclass(frozen=True)
class Candidate:
    """One way to edit the program. `causes` are those it removes; none where it removes what they lead to."""

    id: str
    causes: tuple[str, ...]
    safety: Safety
    summary: Text
    edits: tuple[tuple[Source, Edit], ...]


Propose = Callable[["Site"], "Iterator[Candidate]"]
_families: list[tuple[int, Propose]] = []


def family(order: int) -> Callable[[Propose], Propose]:
    """Registers a family: a function from a site to candidates, the best first. Families are asked in ascending `order`: of two
    that apply, the one that says more precisely what is wrong comes first."""

    def register(propose: Propose) -> Propose:
        _families.append((order, propose))
        return propose

    return register


def candidate(
    id: str, causes: tuple[str, ...], safety: Safety, en: str, ko: str, *edits: tuple[Source, Edit]
) -> Candidate:
    """A candidate; what it does is said in every language."""
    return Candidate(id, causes, safety, text(en, ko), edits)


@functools.cache
def families() -> tuple[Propose, ...]:
    """All families, in order: every module of `families/`."""
    from nanscope.fixes import families as package

    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return tuple(propose for _, propose in sorted(_families, key=lambda f: f[0]))
