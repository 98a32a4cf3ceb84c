"""The smallest float32 island, over modules and lines of the program.

Which sets are run is decided by `IslandSearch` in Rust; here they are given names and run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from nanscope import _core
from nanscope.experiments.bench import Bench, Trial
from nanscope.experiments.recast import Birth, Recast
from nanscope.experiments.sites import Site, statement
from nanscope.outcomes import Text, text
from nanscope.replay.operators import Operator

REPLAYS_MAX = 60
NARROW = (torch.float16, torch.bfloat16)
Line = tuple[str, int]  # file, first line of the statement
Unit = tuple[int, Line | None]  # identity of a module (0: none), and a line of its own code, or all of it


def run(bench: Bench, planned: dict[str, Any]) -> list[dict[str, Any]]:
    """`arguments`: none. Leaves the island on the bench; experiments tell what it and the first guess cost."""
    search = Search(bench)
    found = search.find()
    told = []
    if search.guess is not None and search.guess[2].error is None:
        name, units, trial = search.guess
        kind = "line" if next(iter(units))[1] is not None else "module"
        told.append(bench.told({"id": f"{kind}-float32", "change": named([name])}, trial, search.change(units)))
    if found is None:
        return told
    bench.island = {"members": found.members, "replays": search.replays, "minimal": found.minimal}
    notes, notes_ko = [], []
    for other in found.alternatives:
        notes.append(f"or {', '.join(other)}")
        notes_ko.append(f"또는 {', '.join(other)}")
    if found.not_monotone:
        notes.append("some larger sets fail")
        notes_ko.append("더 큰 집합 중 실패하는 것이 있음")
    note = text("; ".join(notes), "; ".join(notes_ko)) if notes else None
    if told and search.guess is not None and found.units == search.guess[1]:
        if note is not None:
            told[0]["note"] = note
        return told
    outcome = bench.outcome({**planned, "change": named(found.members)}, search.change(found.units), note)
    return told if outcome is None else [*told, outcome]


def named(members: list[str]) -> Text:
    """What is changed, for a person."""
    listed = ", ".join(members)
    return text(f"{listed} in float32", f"{listed}만 float32로")


@dataclass
class Found:
    """An island: its units, and the names of its members in the order of the calls."""

    units: set[Unit]
    minimal: bool
    members: list[str]
    alternatives: list[list[str]] = field(default_factory=list)
    not_monotone: bool = False


class Search:
    """The guess is the line that gives birth to the first bad value, in whatever module it runs. Where it is not enough, or
    several modules run it: modules in the order of their calls, then the lines inside those that are needed. A line outside
    any module is a unit from the start."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.replays = 0
        self.guess: tuple[str, set[Unit], Trial] | None = None
        self._of = statement(bench.base)
        self._inside: dict[Unit, list[Unit]] = {}  # module or line -> what it consists of, in the order of the calls
        self._modules: dict[int, str] = {}
        self._lines: dict[Line, int] = {}  # as it is told: the line of the first operator

    def find(self) -> Found | None:
        """The island; `None` where float32 does not help or time is over."""
        birth = self._look()
        units = () if birth.site is None else self._units(birth.site)
        coarse, fine = list(self._inside), [unit for inside in self._inside.values() for unit in inside]
        if units and units[-1] in fine:
            line = units[-1][1]
            alike = {unit for unit in fine if unit == units[-1] or (line is not None and unit[1] == line)}
            name = self.name(units[-1]) if line is None else f"{line[0]}:{self._lines[line]}"
            self.guess = (name, alike, self._try(alike))
            if self.guess[2].finite and len(alike) == 1:
                return self._guessed(units[-1], fine)
        found = self._search(coarse, units[0] if units and units[0] in coarse else None)
        if found is None:
            return None
        inside = [unit for member in coarse if member in found.units for unit in self._inside[member]]
        if len(inside) > len(found.units):
            finer = self._search(inside, units[-1] if units and units[-1] in inside else None)
            if finer is not None:
                finer.alternatives += found.alternatives
                finer.not_monotone = finer.not_monotone or found.not_monotone
                found = finer
        return found

    def change(self, units: set[Unit], birth: Birth | None = None) -> Recast:
        """These units in float32."""
        return Recast(torch.float32, lambda site, _op: not units.isdisjoint(self._units(site)), birth=birth)

    def name(self, unit: Unit) -> str:
        """A module's path, or file and line; both where several modules run the line and have others besides."""
        module, line = unit
        if line is None:
            return self._modules[module]
        place = f"{line[0]}:{self._lines[line]}"
        if sum(other[1] == line for inside in self._inside.values() for other in inside) == 1:
            return place
        alone = len(self._inside.get((module, None), ())) == 1
        return self._modules[module] if alone else f"{self._modules[module]} ({place})"

    def _guessed(self, unit: Unit, fine: list[Unit]) -> Found:
        """One unit is enough, and without it the step fails. Is there another way, without it?"""
        found = Found({unit}, True, [self.name(unit)])
        rest = [other for other in fine if other != unit]
        if rest and not self.bench.over(2):
            other = self._search(rest, None)
            if other is not None:
                found.alternatives = [other.members, *other.alternatives]
                found.not_monotone = other.not_monotone
        return found

    def _try(self, units: set[Unit]) -> Trial:
        self.replays += 1
        return self.bench.run(self.change(units))

    def _units(self, site: Site) -> tuple[Unit, ...]:
        """The units that a site belongs to, the finest last."""
        found = self._of(site)
        line = None if found is None else found[:2]
        if site.module is None:
            return () if line is None else ((0, line),)
        module = id(site.module)
        return ((module, None), (module, line)) if site.own and line is not None else ((module, None),)

    def _look(self) -> Birth:
        """One replay that lists the units in which something has 16 bits, and shows where the first bad value is born."""

        def told(site: Site, op: Operator, tensors: list[tuple[str, torch.Tensor]]) -> None:
            units = self._units(site)
            if not units or not any(t.dtype in NARROW for _, t in tensors):
                return
            inside = self._inside.setdefault(units[0], [])
            if units[-1] not in inside:
                inside.append(units[-1])
            if site.module is not None:
                name = self.bench.names.modules.get(id(site.module))
                self._modules.setdefault(id(site.module), name or type(site.module).__name__)
            if units[-1][1] is not None:
                self._lines.setdefault(units[-1][1], site.line)

        birth = Birth()
        self.bench.run(Recast(torch.float32, None, birth=birth, told=told))
        self.replays += 1
        return birth

    def _search(self, units: list[Unit], birth: Unit | None) -> Found | None:
        """Over `units`; `birth` is the one that gives birth to the first bad value when none is in float32."""
        search = _core.IslandSearch(len(units), REPLAYS_MAX - self.replays)
        position = {unit: i for i, unit in enumerate(units)}
        search.answer([], False, None if birth is None else position[birth])
        while (asked := search.next()) is not None:
            if self.bench.over(2):
                return None
            born = Birth()
            self.replays += 1
            trial = self.bench.run(self.change({units[i] for i in asked}, born))
            at = None
            if born.site is not None:
                at = next((position[u] for u in reversed(self._units(born.site)) if u in position), None)
            search.answer(asked, trial.finite, at)
        result = search.found()
        if result is None or not result[0]:
            return None
        members, minimal, alternatives, broken, _ = result
        found = Found({units[i] for i in members}, minimal, [self.name(units[i]) for i in members])
        found.alternatives = [[self.name(units[i]) for i in other] for other in alternatives]
        found.not_monotone = broken is not None
        return found
