"""What was tried after the diagnosis of one trip, on its way into the run folder and the report."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from nanscope import _core
from nanscope.folder import Folder

Text = dict[str, str]  # a sentence per language: {"en": ..., "ko": ...}


def text(en: str, ko: str) -> Text:
    """One sentence in every language that a run folder can be read in."""
    return {"en": en, "ko": ko}


@dataclass
class Outcomes:
    """`experiments`, `island` and `fixes` as the run folder holds them: `Tried`, `Island` and `Attempt` of the schema."""

    step: int
    experiments: list[dict[str, Any]] = field(default_factory=list)
    island: dict[str, Any] | None = None
    fixes: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[Text] = field(default_factory=list)

    def any(self) -> bool:
        """Whether there is something to tell."""
        return bool(self.experiments or self.island or self.fixes or self.warnings)

    def plain(self) -> dict[str, Any]:
        """As the run folder holds it."""
        found: dict[str, Any] = {"step": self.step, "experiments": self.experiments, "fixes": self.fixes}
        if self.island is not None:
            found["island"] = self.island
        return {**found, "warnings": self.warnings}


@dataclass
class Diagnosed:
    """A trip and its ledger in JSON, ready to be reported again with what was tried since."""

    trip: str
    ledger: str
    outcomes: Outcomes

    def report(self, folder: Folder, end: dict[str, Any]) -> dict[str, Any]:
        """The report; `end` is the end of the run as far as it is known."""
        outcomes = json.dumps(self.outcomes.plain()) if self.outcomes.any() else None
        found: dict[str, Any] = json.loads(
            _core.diagnose(json.dumps(folder.info), self.trip, self.ledger, json.dumps(end), folder.lang, outcomes)
        )
        return found
