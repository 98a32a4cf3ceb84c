"""One program of the corpus, given to the tool under a neutral name and without its comments."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[2] / "corpus"


@dataclass(frozen=True)
class Case:
    """`truth` is the entry of `truth.json`; `source` is the program, comments blanked, lines kept."""

    id: str
    truth: dict[str, Any]
    source: str

    @property
    def ranks(self) -> bool:
        """True for a program that starts several processes."""
        return "init_process_group" in self.source

    @property
    def healthy(self) -> bool:
        return bool(self.truth["cause"] == "none")


def load(only: list[str] | None = None) -> list[Case]:
    """All cases in order of id, or those whose id is in `only`."""
    truth = json.loads((CORPUS / "truth.json").read_text())
    chosen = {key: value for key, value in truth.items() if not only or key in only}
    return [Case(key, value, strip((CORPUS / "programs" / value["file"]).read_text())) for key, value in chosen.items()]


def strip(source: str) -> str:
    """`source` with its comments replaced by nothing; no line moves."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines) + "\n"


def same_statement(source: str, line: int, listed: list[int]) -> bool:
    """True when `line` lies in the same statement as a listed line (of a compound statement: in its header)."""
    if line in listed:
        return True
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            last = node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            if isinstance(body, list) and body:
                last = max(node.lineno, body[0].lineno - 1)
            if node.lineno <= line <= last and any(node.lineno <= other <= last for other in listed):
                return True
    return False
