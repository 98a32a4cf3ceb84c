"""A program with one edit, or several that are needed together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nanscope.fixes.fix import Candidate, Safety
from nanscope.fixes.source import Edit, Source
from nanscope.outcomes import Text, text


@dataclass(frozen=True)
class Variant:
    """`put` holds the text of every file that differs, by absolute path; `files` those files as they were when they were run."""

    put: dict[str, str] = field(default_factory=dict)
    files: dict[str, Source] = field(default_factory=dict)
    steps: tuple[Candidate, ...] = ()

    def then(self, one: Candidate) -> Variant:
        """With one more candidate, whose edits are of the sources of this variant. Raises `Unreadable`."""
        by_source: dict[str, tuple[Source, list[Edit]]] = {}
        for source, edit in one.edits:
            by_source.setdefault(source.path, (source, []))[1].append(edit)
        put, files = dict(self.put), dict(self.files)
        for path, (source, edits) in by_source.items():
            put[path] = source.bom + source.edited(edits)
            files.setdefault(path, source)
        return Variant(put, files, (*self.steps, one))

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """What makes two variants the same."""
        return tuple(sorted(self.put.items()))

    @property
    def causes(self) -> list[str]:
        """Causes that it removes."""
        return list(dict.fromkeys(cause for step in self.steps for cause in step.causes))

    @property
    def safety(self) -> Safety:
        """That of its least safe part."""
        safe = all(step.safety is Safety.SAFE for step in self.steps)
        return Safety.SAFE if safe else Safety.CHANGES_TRAINING

    @property
    def summary(self) -> Text:
        """What it does."""
        parts = [step.summary for step in self.steps]
        return text("; ".join(part["en"] for part in parts), "; ".join(part["ko"] for part in parts))

    def plain(self) -> dict[str, Any]:
        """As the run folder holds it, its proof left out."""
        files = [(self.files[path], new) for path, new in sorted(self.put.items())]
        return {
            "id": "+".join(dict.fromkeys(step.id for step in self.steps)),
            "causes": self.causes,
            "parts": len(self.steps),
            "summary": self.summary,
            "safety": self.safety.value,
            "diff": "".join(source.diff(new) for source, new in files),
            "files": [{"file": s.file, "checksum": s.checksum, "bytes": s.size} for s, _ in files],
        }
