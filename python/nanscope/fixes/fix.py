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


@dataclass(frozen=True)
class Family:
    """`propose` gives the candidates for a site, the best first. Families are asked in ascending `order`: of two that apply, the
    one that says more precisely what is wrong comes first."""

    order: int
    propose: Callable[[Site], Iterator[Candidate]]


def family(order: int) -> Callable[[Callable[[Site], Iterator[Candidate]]], Family]:
    """Makes a function a family."""
    return functools.partial(Family, order)


def candidate(
    id: str, causes: tuple[str, ...], safety: Safety, en: str, ko: str, *edits: tuple[Source, Edit]
) -> Candidate:
    """A candidate; what it does is said in every language."""
    return Candidate(id, causes, safety, text(en, ko), edits)


@functools.cache
def families() -> tuple[Family, ...]:
    """All families of the modules in `families/`, in order."""
    from nanscope.fixes import families as package

    modules = (importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__))
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Family)]
    return tuple(sorted(found, key=lambda one: one.order))
